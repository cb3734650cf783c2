#include "engine/eval/task_reading.h"

#include <cassert>

#include "engine/text/detokenizer.h"

namespace palimpsest::engine {
namespace {

std::optional<TaskAnswer> generated_task_answer(Session& session, int32_t most, const FeedOptions& options)
{
    session.set_sampler({});
    const Tokenizer& tokenizer = *session.model().tokenizer();
    IncrementalDetokenizer detokenizer(tokenizer, false);
    TaskAnswer answer;
    const GenerateResult result = session.generate({.max_tokens = most,
                                                    .stop = options.stop,
                                                    .token =
                                                        [&](TokenId id) {
                                                            answer.text += detokenizer.push(id);
                                                            if (++answer.tokens % 16 == 0 && options.progress)
                                                                options.progress(session.telemetry());
                                                            return true;
                                                        },
                                                    .is_end = [&](TokenId id) { return tokenizer.is_end(id); }});
    if (result.end == GenerateEnd::Cancelled) return std::nullopt;
    answer.text += detokenizer.finish();
    answer.tokens = result.tokens.size();
    answer.end = result.end;
    return answer;
}

} // namespace

std::optional<std::vector<TaskAnswer>> read_and_answer(Session& session, std::span<const TokenId> context,
                                                       std::span<const std::vector<TokenId>> questions,
                                                       Protocol protocol, int32_t most, const FeedOptions& options)
{
    assert(!context.empty() && !questions.empty());
    assert(protocol == Protocol::Blind || questions.size() == 1);
    const bool is_steered = protocol == Protocol::Steered && session.policy().signals().any();
    if (is_steered) session.set_question_ids(questions[0]);
    if (!session.feed(context, options)) return std::nullopt;
    if (protocol != Protocol::QuestionLast && !session.finish(options)) return std::nullopt;
    if (is_steered) session.set_question_ids({});
    uint64_t before = 0; // tokens of earlier questions and their answers
    FeedOptions of_question{.stop = options.stop, .progress = {}, .loss = {}};
    if (options.progress)
        of_question.progress = [&](Telemetry now) {
            now.tokens_seen += before;
            options.progress(now);
        };
    std::vector<TaskAnswer> answers;
    for (size_t i = 0; i < questions.size(); ++i) {
        const auto copy = i + 1 < questions.size() ? session.fork() : nullptr;
        Session& asked = copy ? *copy : session;
        if (!asked.feed(questions[i], of_question) || !asked.finish(of_question)) return std::nullopt;
        auto answer = generated_task_answer(asked, most, of_question);
        if (!answer) return std::nullopt;
        before += questions[i].size() + static_cast<uint64_t>(most);
        answers.push_back(std::move(*answer));
    }
    return answers;
}

} // namespace palimpsest::engine
