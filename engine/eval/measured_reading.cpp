#include "engine/eval/measured_reading.h"

#include <algorithm>
#include <cassert>
#include <chrono>

#include "engine/session/session_setup.h"
#include "engine/session/token_loss.h"

namespace palimpsest::engine {
namespace {

using Clock = std::chrono::steady_clock;

std::unique_ptr<Session> session_for(const std::shared_ptr<const Model>& model, SessionOptions options)
{
    const SessionSetup setup = set_up(options, model->config(), model->backend().at_once());
    if (setup.policy->retrieval()) options.chunk = 1;
    return std::make_unique<Session>(model, options);
}

} // namespace

MeasuredReading::MeasuredReading(const std::shared_ptr<const Model>& model, SessionOptions options,
                                 std::span<const TokenId> text, std::vector<uint64_t> lengths)
    : session_(session_for(model, std::move(options))), text_(text), losses_(std::move(lengths))
{
    const auto capacity = static_cast<size_t>(session_->policy().capacity());
    if (session_->policy().bounded() || text.size() <= capacity) return;
    text_ = text.first(capacity);
    is_complete_ = false;
}

bool MeasuredReading::read_up_to(uint64_t end, const FeedOptions& options)
{
    const auto begin = Clock::now();
    FeedOptions feed = options;
    feed.loss = [&](uint64_t index, TokenId token, double nll) {
        losses_.add(index, nll);
        if (options.loss) options.loss(index, token, nll);
    };
    assert(end >= read_);
    const uint64_t to = std::min(end, last());
    const std::span<const TokenId> part = text_.subspan(read_, to - read_);
    const bool is_read = session_->policy().retrieval() ? decode(part, feed) : session_->feed(part, feed);
    if (!is_read || (to == last() && !session_->finish(feed))) return false;
    read_ = to;
    seconds_ += std::chrono::duration<double>(Clock::now() - begin).count();
    return true;
}

bool MeasuredReading::decode(std::span<const TokenId> tokens, const FeedOptions& options)
{
    constexpr uint64_t tokens_between_reports = 64;
    for (size_t i = 0; i < tokens.size(); ++i) {
        const std::span<const TokenId> one = tokens.subspan(i, 1);
        const uint64_t index = read_ + i;
        if (index == 0) {
            if (!session_->feed(one, options) || !session_->finish(options)) return false;
            continue;
        }
        options.loss(index, one[0], negative_log_likelihood(session_->logits(), one[0]));
        if (session_->replay(one, false, options.stop) != 1) return false;
        if (options.progress && (index + 1) % tokens_between_reports == 0) options.progress(session_->telemetry());
    }
    return true;
}

} // namespace palimpsest::engine
