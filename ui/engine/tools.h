// What work on the engine's thread may use while it runs there.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <stop_token>

#include "engine/model/model.h"
#include "storage/session/store.h"
#include "storage/session/stored_session.h"
#include "ui/engine/engine_thread.h"

namespace palimpsest::ui {

struct EngineThread::Tools {
    std::shared_ptr<const engine::Model> model; // loaded; null if that was not asked for
    storage::Store& store;
    storage::StoredSession* session; // the open one, or null
    std::stop_token stop;
    // Shown as the share done; cheap, may be called often.
    std::function<void(double share, std::optional<double> seconds_left)> progress;
};

} // namespace palimpsest::ui
