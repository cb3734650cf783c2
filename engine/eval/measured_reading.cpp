#include "engine/eval/measured_reading.h"

#include <algorithm>
#include <chrono>

#include "engine/session/token_loss.h"

namespace palimpsest::engine {
namespace {

using Clock = std::chrono::steady_clock;

std::optional<double> read_by_decoding(Session& session, std::span<const TokenId> ids, const FeedOptions& options)
{
    constexpr size_t tokens_between_reports = 64;
    const auto begin = Clock::now();
    if (!session.feed(ids.first(1), options) || !session.finish(options)) return std::nullopt;
    for (size_t i = 1; i < ids.size(); ++i) {
        if (options.loss) options.loss(i, ids[i], negative_log_likelihood(session.logits(), ids[i]));
        if (session.replay(ids.subspan(i, 1), false, options.stop) != 1) return std::nullopt;
        if (options.progress && (i + 1) % tokens_between_reports == 0) options.progress(session.telemetry());
    }
    const double seconds = std::chrono::duration<double>(Clock::now() - begin).count();
    return static_cast<double>(ids.size()) / std::max(seconds, 1e-9);
}

} // namespace

std::unique_ptr<Session> session_to_measure(const std::shared_ptr<const Model>& model, SessionOptions options)
{
    auto session = std::make_unique<Session>(model, options);
    if (!session->policy().retrieval() || options.chunk == 1) return session;
    session.reset(); // frees its memory before the second one is made
    options.chunk = 1;
    return std::make_unique<Session>(model, options);
}

std::optional<double> read_measured(Session& session, std::span<const TokenId> ids, const FeedOptions& options)
{
    if (session.policy().retrieval()) return read_by_decoding(session, ids, options);
    if (!session.feed(ids, options)) return std::nullopt;
    const double whole_chunks = session.telemetry().tokens_per_second;
    if (!session.finish(options)) return std::nullopt;
    return whole_chunks > 0 ? whole_chunks : session.telemetry().tokens_per_second;
}

} // namespace palimpsest::engine
