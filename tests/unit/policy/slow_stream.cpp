#include "tests/unit/policy/slow_stream.h"

#include <algorithm>

namespace palimpsest::tests {

namespace {

ReferenceShape reference_shape(const StreamShape& shape)
{
    return {.layers = shape.layers,
            .heads = shape.heads,
            .budget = shape.budget,
            .pinned = tokens_of(shape.pins),
            .context = shape.context,
            .chunk = shape.chunk};
}

} // namespace

std::set<uint32_t> tokens_of(const engine::Pins& pins)
{
    std::set<uint32_t> tokens;
    for (const engine::TokenRange& range : pins.ranges())
        for (uint32_t token = range.first; token < range.last; ++token)
            tokens.insert(token);
    return tokens;
}

SlowStream::SlowStream(const std::string& spec, StreamShape shape, SyntheticSignals signals)
    : shape_(shape), signals_(std::move(signals)), policy_(engine::PolicySpec::parse(spec), reference_shape(shape))
{
}

void SlowStream::feed(int tokens)
{
    policy_.append(tokens);
    for (int layer = 0; layer < shape_.layers; ++layer) {
        for (int head = 0; head < shape_.heads; ++head)
            score(layer, head);
        policy_.observe(layer, observation(layer, tokens));
    }
    policy_.evict();
    ++chunks_;
}

void SlowStream::feed_all(int tokens, int chunk)
{
    for (int done = 0; done < tokens; done += chunk)
        feed(std::min(chunk, tokens - done));
}

void SlowStream::end_prefill()
{
    policy_.end_prefill();
    policy_.evict();
}

void SlowStream::restart(const std::string& spec, const engine::Pins& pins)
{
    policy_ = policy_.restarted(engine::PolicySpec::parse(spec), tokens_of(pins));
}

void SlowStream::score(int layer, int head)
{
    for (ReferenceEntry& entry : policy_.list(layer, head)) {
        if (!policy_.settings().moments && !signals_.by_rows) {
            signals_.score(layer, head, chunks_, entry.stream, entry.sum, entry.count);
            continue;
        }
        const SyntheticSignals::Received received = signals_.received(layer, head, chunks_, entry.stream);
        entry.moments.resize(received.size());
        for (size_t g = 0; g < received.size(); ++g) {
            entry.moments[g].sum += received[g];
            entry.moments[g].squares += received[g] * received[g];
            entry.sum += received[g] / static_cast<double>(received.size());
        }
        entry.count += 1;
    }
}

ReferenceObservation SlowStream::observation(int layer, int rows)
{
    ReferenceObservation seen{.rows = rows, .row_statistic = signals_.row_statistic(layer, chunks_)};
    if (policy_.settings().budgets != "cake") return seen;
    for (int head = 0; head < shape_.heads; ++head) {
        auto& own = seen.entropies.emplace_back();
        for (const ReferenceEntry& entry : policy_.list(layer, head))
            own.push_back(static_cast<double>(signals_.entropy(layer, head, chunks_, entry.stream)));
    }
    return seen;
}

std::vector<uint32_t> SlowStream::kept(int layer, int head)
{
    std::vector<uint32_t> streams;
    for (const ReferenceEntry& entry : policy_.list(layer, head))
        streams.push_back(entry.stream);
    return streams;
}

std::vector<std::vector<uint32_t>> SlowStream::all_kept()
{
    std::vector<std::vector<uint32_t>> out;
    for (int layer = 0; layer < shape_.layers; ++layer)
        for (int head = 0; head < shape_.heads; ++head)
            out.push_back(kept(layer, head));
    return out;
}

std::vector<std::vector<uint32_t>> SlowStream::merged(int layer, int head) const
{
    std::vector<std::vector<uint32_t>> out;
    for (const ReferenceMerge& merge : policy_.merges(layer, head)) {
        auto& streams = out.emplace_back(1, merge.into);
        streams.insert(streams.end(), merge.of.begin(), merge.of.end());
    }
    return out;
}

} // namespace palimpsest::tests
