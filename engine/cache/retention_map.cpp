#include "engine/cache/retention_map.h"

#include <algorithm>

namespace palimpsest::engine {

RetentionMap RetentionMap::of(const TokenLists& lists, uint64_t tokens_seen)
{
    RetentionMap map{lists.shape().layers, lists.shape().heads.kv_heads, tokens_seen, {}};
    for (int32_t l = 0; l < map.layers; ++l)
        for (int32_t h = 0; h < map.kv_heads; ++h)
            map.tokens.push_back(lists.list(l, h).stream);
    return map;
}

double overlap(const RetentionMap& a, const RetentionMap& b)
{
    size_t both = 0;
    size_t either = 0;
    for (size_t i = 0; i < a.tokens.size(); ++i) {
        const auto& x = a.tokens[i];
        const auto& y = b.tokens[i];
        size_t common = 0;
        for (size_t p = 0, q = 0; p < x.size() && q < y.size();) {
            if (x[p] == y[q]) ++common;
            const bool step_x = x[p] <= y[q];
            const bool step_y = y[q] <= x[p];
            p += step_x;
            q += step_y;
        }
        both += common;
        either += x.size() + y.size() - common;
    }
    return either == 0 ? 1.0 : static_cast<double>(both) / static_cast<double>(either);
}

namespace {

// `stream_of(layer, head)` returns the stream indices of a list.
template<class StreamOf>
double share_held(int32_t layers, int32_t kv_heads, uint64_t tokens_seen, const TokenRange& range,
                  StreamOf&& stream_of)
{
    const auto last = static_cast<uint32_t>(std::min<uint64_t>(range.last, tokens_seen));
    if (range.first >= last) return 0;
    uint64_t held = 0;
    for (int32_t l = 0; l < layers; ++l)
        for (int32_t h = 0; h < kv_heads; ++h) {
            const std::vector<uint32_t>& stream = stream_of(l, h);
            held += static_cast<uint64_t>(std::lower_bound(stream.begin(), stream.end(), last) -
                                          std::lower_bound(stream.begin(), stream.end(), range.first));
        }
    return static_cast<double>(held) / (static_cast<double>(last - range.first) * layers * kv_heads);
}

} // namespace

double held(const RetentionMap& map, const TokenRange& range)
{
    return share_held(
        map.layers, map.kv_heads, map.tokens_seen,
        range, [&](int32_t l, int32_t h) -> const auto& { return map.of(l, h); });
}

double held(const TokenLists& lists, uint64_t tokens_seen, const TokenRange& range)
{
    return share_held(
        lists.shape().layers, lists.shape().heads.kv_heads, tokens_seen,
        range, [&](int32_t l, int32_t h) -> const auto& { return lists.list(l, h).stream; });
}

Reach reach(const RetentionMap& map)
{
    Reach result{std::vector<double>(10, 0.0), 0};
    std::vector<uint64_t> ages;
    for (const auto& list : map.tokens)
        for (const uint32_t token : list) {
            result.by_tenth[static_cast<size_t>(uint64_t{token} * 10 / map.tokens_seen)] += 1.0;
            ages.push_back(map.tokens_seen - 1 - token);
        }
    if (ages.empty()) return result;
    for (double& share : result.by_tenth)
        share /= static_cast<double>(ages.size());
    const auto middle = ages.begin() + static_cast<std::ptrdiff_t>(ages.size() / 2);
    std::nth_element(ages.begin(), middle, ages.end());
    result.median_age = *middle;
    return result;
}

} // namespace palimpsest::engine
