#include "ui/engine/early_questions.h"

#include <algorithm>

namespace palimpsest::ui {
namespace {

constexpr uint64_t least_step = 2048;

} // namespace

void EarlyQuestions::add(CommandId id, const QString& text)
{
    const std::lock_guard lock(mutex_);
    questions_.push_back({id, text});
}

std::optional<EarlyQuestions::Question> EarlyQuestions::next(uint64_t tokens_read,
                                                             const std::function<bool(CommandId)>& waits)
{
    const std::lock_guard lock(mutex_);
    std::erase_if(questions_, [&](const Question& question) { return !waits(question.id); });
    const auto due = std::find_if(questions_.begin(), questions_.end(),
                                  [&](const Question& question) { return tokens_read >= question.next_at; });
    if (due == questions_.end()) return std::nullopt;
    due->next_at = tokens_read + std::max(least_step, tokens_read / 4);
    return *due;
}

void EarlyQuestions::forget(CommandId id)
{
    const std::lock_guard lock(mutex_);
    std::erase_if(questions_, [&](const Question& question) { return question.id == id; });
}

} // namespace palimpsest::ui
