// The questions that wait while a document is read, and are answered from what was read so far. Added by the
// window's thread, answered by the engine thread.
#pragma once

#include <QString>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <vector>

#include "ui/engine/command_queue.h"

namespace palimpsest::ui {

class EarlyQuestions {
public:
    struct Question {
        CommandId id = 0;
        QString text;
        uint64_t next_at = 0; // tokens read when it is to be tried again
    };

    void add(CommandId id, const QString& text);
    // The first question that is to be tried now that so many tokens were read: at once, and then again whenever a
    // quarter more was read, at least 2,048 tokens. Forgets those of which `waits` says that they do not wait.
    std::optional<Question> next(uint64_t tokens_read, const std::function<bool(CommandId)>& waits);
    void forget(CommandId id);

private:
    std::mutex mutex_; // guards the member below
    std::vector<Question> questions_;
};

} // namespace palimpsest::ui
