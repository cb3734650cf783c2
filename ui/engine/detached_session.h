// A session that was closed for another one, with everything needed to open it again.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "kernels/base/error.h"
#include "storage/conversations.h"
#include "storage/session/store.h"

namespace palimpsest::ui {

// The database of an unsaved session, in memory.
struct UnsavedStore {
    storage::Store store{};
    int64_t number = 0; // distinguishes unsaved sessions
};

// A session of which only the text can be shown; `why`: the reason that its model is unavailable.
struct TextOnlySession {
    storage::SessionInfo session;
    Error why;
};

struct DetachedSession {
    std::optional<int64_t> id{}; // nullopt: no session was open
    bool is_saved = true;
    std::unique_ptr<UnsavedStore> unsaved{};
    std::optional<TextOnlySession> text_only{};
};

} // namespace palimpsest::ui
