#include "engine/eval/attention_probe.h"

#include <algorithm>
#include <cassert>

#include "engine/eval/full_session.h"
#include "engine/session/memory_plan.h"

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
    const auto after = static_cast<uint64_t>(rows), step = static_cast<uint64_t>(chunk);
    const uint64_t last = text - after;
    const uint64_t chunks =
        last < after ? 0 : (last - after) / step; // whose ends have room for the rows behind them
    const uint64_t parts = std::min(static_cast<uint64_t>(count), chunks + 1);
    std::vector<uint64_t> places;
    for (uint64_t i = 1; i < parts; ++i)
        places.push_back((chunks + 1) * i / parts * step);
    places.push_back(last);
    return places;
}

uint64_t bytes_to_probe(const Model& model, const SessionOptions& options, size_t tokens,
                        std::span<const uint64_t> places, int32_t rows)
{
    const auto lists = static_cast<uint64_t>(model.config().layers * model.config().kv_heads);
    uint64_t numbers = 0;
    for (const uint64_t place : places)
        numbers += lists * (place + static_cast<uint64_t>(rows));
    const uint64_t probes = numbers * sizeof(float);
    if (model.backend().memory()) return probes;
    const MemoryPlan plan = MemoryPlanner(model, UINT64_MAX).plan(full_options(model.config(), options, tokens), 1);
    return probes + plan.sessions + plan.scratch;
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
