#include "engine/eval/answer_choice.h"

#include <cassert>

#include "engine/session/token_loss.h"

namespace palimpsest::engine {
namespace {

// Null if stopped.
std::unique_ptr<Session> asked(Session& session, std::span<const TokenId> question, const std::stop_token& stop)
{
    auto copy = session.fork();
    const FeedOptions feed{.stop = stop, .progress = {}, .loss = {}};
    return copy->feed(question, feed) && copy->finish(feed) ? std::move(copy) : nullptr;
}

std::optional<double> decoded_loss(Session& session, std::span<const TokenId> answer, const std::stop_token& stop)
{
    double sum = 0;
    for (size_t i = 0; i < answer.size(); ++i) {
        sum += negative_log_likelihood(session.logits(), answer[i]);
        if (session.replay(answer.subspan(i, 1), false, stop) != 1) return std::nullopt;
    }
    return sum;
}

std::optional<double> loss_of(Session& session, std::span<const TokenId> answer, const std::stop_token& stop)
{
    if (session.policy().retrieval()) return decoded_loss(session, answer, stop);
    double sum = 0;
    const FeedOptions feed{
        .stop = stop, .progress = {}, .loss = [&](uint64_t, TokenId, double nll) { sum += nll; }};
    if (!session.feed(answer, feed) || !session.finish(feed)) return std::nullopt;
    return sum;
}

} // namespace

size_t AnswerChoice::best() const
{
    assert(!losses.empty());
    size_t best = 0;
    for (size_t i = 1; i < losses.size(); ++i)
        if (losses[i] <= losses[best]) best = i;
    return best;
}

std::optional<AnswerChoice> choose_answer(Session& session, std::span<const TokenId> question,
                                          std::span<const std::vector<TokenId>> answers,
                                          const std::stop_token& stop)
{
    const auto base = asked(session, question, stop);
    if (!base) return std::nullopt;
    AnswerChoice choice;
    for (const std::vector<TokenId>& answer : answers) {
        const auto loss = loss_of(*base->fork(), answer, stop);
        if (!loss) return std::nullopt;
        choice.losses.push_back(*loss);
    }
    return choice;
}

std::optional<std::string> generated_answer(Session& session, std::span<const TokenId> question, int32_t most,
                                            const std::stop_token& stop)
{
    const auto base = asked(session, question, stop);
    if (!base) return std::nullopt;
    base->set_sampler({});
    const Tokenizer& tokenizer = *base->model().tokenizer();
    std::string text;
    GenerateOptions options{.max_tokens = most, .stop = stop, .token = {}, .is_end = {}};
    options.is_end = [&](TokenId token) { return tokenizer.is_end(token); };
    options.token = [&](TokenId token) {
        text += tokenizer.surface(token);
        const size_t begin = text.find_first_not_of(" \n");
        return begin == text.npos || text.find('\n', begin) == text.npos;
    };
    if (base->generate(options).end == GenerateEnd::Cancelled) return std::nullopt;
    return text;
}

} // namespace palimpsest::engine
