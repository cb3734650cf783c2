#include "engine/cache/eviction_events.h"

#include <algorithm>

namespace palimpsest::engine {
namespace {

bool keeps(const TokenList& list, const std::vector<uint32_t>& dropped, uint32_t token)
{
    const auto at = std::lower_bound(list.stream.begin(), list.stream.end(), token);
    if (at == list.stream.end() || *at != token) return false;
    const auto rank = static_cast<uint32_t>(at - list.stream.begin());
    return !std::binary_search(dropped.begin(), dropped.end(), rank);
}

} // namespace

std::vector<uint32_t> no_longer_retained(std::span<const TokenList* const> lists,
                                         const std::vector<std::vector<uint32_t>>& dropped)
{
    std::vector<uint32_t> evicted;
    for (size_t h = 0; h < lists.size(); ++h)
        for (const uint32_t rank : dropped[h])
            evicted.push_back(lists[h]->stream[rank]);
    std::sort(evicted.begin(), evicted.end());
    evicted.erase(std::unique(evicted.begin(), evicted.end()), evicted.end());
    std::erase_if(evicted, [&](uint32_t token) {
        for (size_t h = 0; h < lists.size(); ++h)
            if (keeps(*lists[h], dropped[h], token)) return true;
        return false;
    });
    return evicted;
}

void report_evictions(int32_t layer, uint64_t chunk, std::span<const TokenList* const> lists,
                      const std::vector<std::vector<uint32_t>>& dropped, const EvictionSink& sink)
{
    if (!sink) return;
    std::vector<EvictionEvent> events;
    for (const uint32_t token : no_longer_retained(lists, dropped))
        events.push_back({layer, token, static_cast<uint32_t>(chunk)});
    if (!events.empty()) sink(events);
}

} // namespace palimpsest::engine
