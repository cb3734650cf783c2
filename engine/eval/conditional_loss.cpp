#include "engine/eval/conditional_loss.h"

#include "engine/session/session.h"

namespace palimpsest::engine {

// The context is a chunk without losses, so that logits are computed for the last of its tokens alone.
std::optional<double> conditional_loss(const std::shared_ptr<const Model>& model, std::span<const TokenId> context,
                                       std::span<const TokenId> tokens, const std::stop_token& stop)
{
    SessionOptions options;
    options.policy = {"full", {}};
    options.budget = no_budget;
    options.chunk = static_cast<int32_t>(std::max(context.size(), tokens.size()));
    Session session(model, options);
    double sum = 0;
    const FeedOptions without{.stop = stop, .progress = {}, .loss = {}};
    const FeedOptions with{
        .stop = stop, .progress = {}, .loss = [&](uint64_t, TokenId, double nll) { sum += nll; }};
    if (!session.feed(context, without) || !session.finish(without)) return std::nullopt;
    if (!session.feed(tokens, with) || !session.finish(with)) return std::nullopt;
    return sum;
}

} // namespace palimpsest::engine
