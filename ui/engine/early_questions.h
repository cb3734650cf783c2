// The questions that wait while a document is read, and are answered from what was read so far. Added by the window's
// thread, answered by the engine thread.
#pragma once

#include <QString>
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
        double tried_at = -1; // share of the documents that was read then
    };

    void add(CommandId id, const QString& text);
    // The first question that is to be tried now that this share was read, 0 to 1: at once, and as long as nothing is
    // found after every further twentieth. Forgets those that do not wait any more.
    std::optional<Question> next(double share, const std::function<bool(CommandId)>& waits);
    void was_answered(CommandId id);

private:
    std::mutex mutex_; // guards the member below
    std::vector<Question> questions_;
};

} // namespace palimpsest::ui
