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

// Feeds the tokens to the session and adds up their losses.
std::optional<double> loss_of_fed(Session& session, std::span<const TokenId> tokens, const std::stop_token& stop)
{
    double sum = 0;
    const FeedOptions feed{
        .stop = stop, .progress = {}, .loss = [&](uint64_t, TokenId, double nll) { sum += nll; }};
    if (!session.feed(tokens, feed) || !session.finish(feed)) return std::nullopt;
    return sum;
}

// As loss_of_fed, but decodes one token after the other: a retrieval policy reads only a part of the cache when it
// decodes, and all of it when a chunk is fed.
std::optional<double> loss_of_decoded(Session& session, std::span<const TokenId> tokens,
                                      const std::stop_token& stop)
{
    double sum = 0;
    for (size_t i = 0; i < tokens.size(); ++i) {
        sum += negative_log_likelihood(session.logits(), tokens[i]);
        if (session.replay(tokens.subspan(i, 1), false, stop) != 1) return std::nullopt;
    }
    return sum;
}

// The last token is judged by the logits before it and need not be fed.
std::optional<double> loss_of(Session& asked, std::span<const TokenId> answer, const std::stop_token& stop)
{
    if (answer.empty()) return 0;
    if (answer.size() == 1) return negative_log_likelihood(asked.logits(), answer[0]);
    const auto copy = asked.fork();
    const auto loss = asked.policy().retrieval() ? loss_of_decoded : loss_of_fed;
    const auto before = loss(*copy, answer.first(answer.size() - 1), stop);
    if (!before) return std::nullopt;
    return *before + negative_log_likelihood(copy->logits(), answer.back());
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
        const auto loss = loss_of(*base, answer, stop);
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
