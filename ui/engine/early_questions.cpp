#include "ui/engine/early_questions.h"

#include <algorithm>

namespace palimpsest::ui {
namespace {

constexpr double share_between_tries = 0.05;

} // namespace

void EarlyQuestions::add(CommandId id, const QString& text)
{
    const std::lock_guard lock(mutex_);
    questions_.push_back({id, text});
}

std::optional<EarlyQuestions::Question> EarlyQuestions::next(double share,
                                                             const std::function<bool(CommandId)>& waits)
{
    const std::lock_guard lock(mutex_);
    std::erase_if(questions_, [&](const Question& question) { return !waits(question.id); });
    const auto due = std::find_if(questions_.begin(), questions_.end(), [&](const Question& question) {
        return question.tried_at < 0 || share >= question.tried_at + share_between_tries;
    });
    if (due == questions_.end()) return std::nullopt;
    due->tried_at = share;
    return *due;
}

void EarlyQuestions::was_answered(CommandId id)
{
    const std::lock_guard lock(mutex_);
    std::erase_if(questions_, [&](const Question& question) { return question.id == id; });
}

} // namespace palimpsest::ui
