// What the engine is doing, as of one moment: written by the engine's thread, read by views at their own pace.
#pragma once

#include <QString>
#include <cstdint>
#include <memory>
#include <optional>

#include "engine/cache/retention_map.h"
#include "engine/session/telemetry.h"

namespace palimpsest::ui {

enum class Activity { Idle, LoadingModel, Opening, Reading, Answering, Saving };

struct Frame {
    uint64_t number = 0; // grows with every frame
    Activity activity = Activity::Idle;
    QString what;                              // the document, model or question it is about
    std::optional<double> share, seconds_left; // of that
    double tokens_per_second = 0;
    uint64_t tokens_total = 0;                        // of the stream when that is done; 0: not known
    engine::Telemetry telemetry;                      // of the open session
    std::shared_ptr<const engine::RetentionMap> kept; // of the open session; null: none is open
    QString answer;                                   // so far, while Answering
    int waiting = 0;                                  // commands behind this one
};

} // namespace palimpsest::ui
