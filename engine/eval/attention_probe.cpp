#include "engine/eval/attention_probe.h"

#include <algorithm>
#include <cassert>

namespace palimpsest::engine {
namespace {

AttentionProbe empty_probe(const ModelConfig& model, uint64_t tokens, int32_t rows)
{
    return {.tokens = tokens,
            .rows = rows,
            .received = std::vector<std::vector<float>>(static_cast<size_t>(model.layers * model.kv_heads))};
}

void record_received(const Selection& seen, AttentionProbe& probe)
{
    const size_t first = static_cast<size_t>(seen.layer) * seen.lists.size();
    for (size_t h = 0; h < seen.lists.size(); ++h)
        probe.received[first + h].assign(seen.lists[h].sum.begin(), seen.lists[h].sum.end());
}

} // namespace

std::vector<uint64_t> probe_places(uint64_t text, int32_t chunk, int32_t rows, int32_t count)
{
    assert(rows <= chunk && static_cast<uint64_t>(rows) < text && count >= 1);
    const uint64_t last = text - static_cast<uint64_t>(rows), step = static_cast<uint64_t>(chunk);
    const auto parts = static_cast<uint64_t>(count);
    std::vector<uint64_t> places;
    for (uint64_t i = 1; i < parts; ++i) {
        const uint64_t place = last * i / parts / step * step;
        const bool is_new = place > (places.empty() ? 0 : places.back());
        if (is_new && place + static_cast<uint64_t>(rows) <= last) places.push_back(place);
    }
    places.push_back(last);
    return places;
}

std::optional<std::vector<AttentionProbe>> probe_attention(Session& full, std::span<const TokenId> text,
                                                           std::span<const uint64_t> places,
                                                           const FeedOptions& options)
{
    const int32_t rows = full.policy().signals().window;
    std::vector<AttentionProbe> probes;
    uint64_t read = 0;
    const auto read_to = [&](uint64_t end) {
        const auto part = text.subspan(read, end - read);
        read = end;
        return full.feed(part, options) && full.finish(options);
    };
    for (const uint64_t place : places) {
        if (!read_to(place)) return std::nullopt;
        probes.push_back(empty_probe(full.model().config(), place, rows));
        full.set_observer([&](const Selection& seen) { record_received(seen, probes.back()); });
        const bool is_read = read_to(place + static_cast<uint64_t>(rows));
        full.set_observer({});
        if (!is_read) return std::nullopt;
    }
    return probes;
}

} // namespace palimpsest::engine
