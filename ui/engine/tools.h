// The tools of work that runs on the engine thread: model, database, open session, stop and progress.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <stop_token>

#include "engine/model/model.h"
#include "storage/session/listener.h"
#include "storage/session/store.h"
#include "storage/session/stored_session.h"
#include "ui/engine/engine_thread.h"

namespace palimpsest::ui {

struct EngineThread::Tools {
    std::shared_ptr<const engine::Model> model; // the loaded model, never null
    storage::Store& store;
    storage::StoredSession* session; // the open session, or null
    std::stop_token stop;
    storage::Listener& listener; // its notes are shown in the window
    // Reports progress; cheap enough to call often.
    std::function<void(double share, std::optional<double> seconds_left)> progress;
};

} // namespace palimpsest::ui
