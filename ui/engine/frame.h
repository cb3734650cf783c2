// State of the engine at one moment: published by the engine thread, read by views at their own pace.
#pragma once

#include <QString>
#include <cstdint>
#include <memory>
#include <optional>

#include "engine/cache/retention_map.h"
#include "engine/session/telemetry.h"

namespace palimpsest::ui {

enum class Activity { Idle, LoadingModel, Opening, Reading, WritingNotes, Answering, Saving, Indexing, Storing };

struct Frame {
    uint64_t number = 0; // increases with every frame
    Activity activity = Activity::Idle;
    QString what;                              // the document, model or question concerned
    std::optional<double> share, seconds_left; // progress of the activity, 0 to 1; time left
    double tokens_per_second = 0;
    uint64_t tokens_total = 0;                        // tokens of the stream after the activity; 0: unknown
    uint64_t notes = 0, notes_wanted = 0;             // written so far, and in the end; 0: not WritingNotes
    engine::Telemetry telemetry;                      // of the open session
    std::shared_ptr<const engine::RetentionMap> kept; // of the open session; null: no session is open
    QString answer;                                   // the answer so far, while Answering
    int waiting = 0;                                  // waiting commands
};

} // namespace palimpsest::ui
