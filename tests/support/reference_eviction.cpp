#include "tests/support/reference_eviction.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

namespace palimpsest::kernels::test {
namespace {

using Ranks = std::vector<uint32_t>;

ListPlan list_plan(const uint32_t* plan, int64_t head)
{
    const uint32_t* word = plan + head * 8;
    return {word[0], word[1], word[2], word[3], word[4], word[5], word[6], word[7]};
}

uint32_t held(const PinnedRanks& pinned, int64_t head)
{
    return pinned.ranks ? pinned.held[head] : 0;
}

// The rank in the list of an entry; entries are numbered without pinned tokens.
uint32_t rank_of(const PinnedRanks& pinned, int64_t head, uint32_t entry)
{
    uint32_t rank = entry;
    for (uint32_t i = 0; i < held(pinned, head); ++i)
        if (pinned.ranks[head * pinned.stride + i] <= rank) ++rank;
    return rank;
}

double raw_score(const EvictArgs& args, int64_t head, int64_t entry)
{
    const int64_t at = head * args.statistics.stride + rank_of(args.pinned, head, static_cast<uint32_t>(entry));
    switch (args.rule.score) {
    case ScoreRule::Mean:
        return args.statistics.sum[at] / args.statistics.count[at];
    case ScoreRule::Total:
        return args.statistics.sum[at];
    case ScoreRule::Negative:
        return -args.statistics.sum[at];
    case ScoreRule::None:
        break;
    }
    return 0;
}

double or_least(double score)
{
    return std::isnan(score) ? -std::numeric_limits<double>::infinity() : score;
}

// ---- SelectRule::Lowest

std::vector<double> pooled(const SelectionRule& rule, const std::vector<double>& raw)
{
    if (rule.pooling == PoolRule::None) return raw;
    const auto n = static_cast<int64_t>(raw.size());
    const int64_t reach = rule.kernel / 2;
    std::vector<double> result;
    for (int64_t i = 0; i < n; ++i) {
        const int64_t first = std::max<int64_t>(0, i - reach), last = std::min(n - 1, i + reach);
        double x = raw[static_cast<size_t>(first)];
        for (int64_t j = first + 1; j <= last; ++j) {
            const double next = raw[static_cast<size_t>(j)];
            if (rule.pooling == PoolRule::Average)
                x = x + next;
            else if (x < next)
                x = next;
        }
        result.push_back(rule.pooling == PoolRule::Average ? x / static_cast<double>(rule.kernel) : x);
    }
    return result;
}

// Pooled scores of ranks [0, end).
std::vector<double> shaped(const EvictArgs& args, int64_t head, uint32_t end)
{
    std::vector<double> raw;
    for (uint32_t rank = 0; rank < end; ++rank)
        raw.push_back(raw_score(args, head, rank));
    return pooled(args.rule, raw);
}

std::vector<double> final_scores(const EvictArgs& args, int64_t head, uint32_t end)
{
    std::vector<double> scores = shaped(args, args.rule.layer_mean ? 0 : head, end);
    if (args.rule.layer_mean) {
        for (int64_t other = 1; other < args.kv_heads; ++other) {
            const std::vector<double> more = shaped(args, other, end);
            for (size_t i = 0; i < scores.size(); ++i)
                scores[i] = scores[i] + more[i];
        }
        for (double& score : scores)
            score = score / static_cast<double>(args.kv_heads);
    }
    for (double& score : scores)
        score = or_least(score);
    return scores;
}

Ranks lowest(const EvictArgs& args, int64_t head, const ListPlan& list)
{
    const std::vector<double> scores = final_scores(args, head, list.end);
    Ranks candidates(list.end - list.first);
    std::iota(candidates.begin(), candidates.end(), list.first);
    std::sort(candidates.begin(), candidates.end(),
              [&](uint32_t a, uint32_t b) { return scores[a] != scores[b] ? scores[a] < scores[b] : a > b; });
    candidates.resize(list.evicted);
    return candidates;
}

// ---- SelectRule::Tiles

double entry_score(const EvictArgs& args, int64_t head, const ListPlan& list, uint32_t entry)
{
    double total = 0;
    for (int32_t i = 0; i < args.rule.unit; ++i)
        total = total + raw_score(args, head, int64_t{list.first} + int64_t{entry} * args.rule.unit + i);
    return total / static_cast<double>(args.rule.unit);
}

// Marks which entries of an eviction tile are kept, from their scores.
std::vector<bool> kept_entries(const SelectionRule& rule, const std::vector<double>& scores)
{
    if (!rule.ties_keep_older) {
        const bool left = scores[0] > scores[1];
        return {left, !left};
    }
    std::vector<bool> stays(scores.size(), false);
    for (int32_t k = 0; k < rule.kept; ++k) {
        size_t best = scores.size();
        for (size_t i = 0; i < scores.size(); ++i)
            if (!stays[i] && (best == scores.size() || or_least(scores[i]) > or_least(scores[best]))) best = i;
        stays[best] = true;
    }
    return stays;
}

Ranks thinned(const EvictArgs& args, int64_t head, const ListPlan& list)
{
    const auto tile = static_cast<size_t>(args.rule.tile);
    const size_t tiles = list.waves > 0 ? args.plan[list.wave_ends + list.waves - 1] : 0;
    Ranks entries(list.size), evicted;
    std::iota(entries.begin(), entries.end(), 0u);
    for (size_t t = 0; t < tiles; ++t) {
        const uint32_t* places = args.plan + list.data + t * tile;
        std::vector<double> scores;
        for (size_t i = 0; i < tile; ++i)
            scores.push_back(entry_score(args, head, list, entries[places[i]]));
        const std::vector<bool> stays = kept_entries(args.rule, scores);
        size_t to = 0;
        for (size_t i = 0; i < tile; ++i) {
            const uint32_t entry = entries[places[i]];
            if (stays[i]) {
                entries[places[to++]] = entry;
                continue;
            }
            for (int32_t u = 0; u < args.rule.unit; ++u)
                evicted.push_back(list.first + entry * static_cast<uint32_t>(args.rule.unit) +
                                  static_cast<uint32_t>(u));
        }
    }
    return evicted;
}

// ---- removing the evicted entries

Ranks evicted_entries(const EvictArgs& args, int64_t head, const ListPlan& list)
{
    if (list.evicted == 0) return {};
    const uint32_t* given = args.plan + list.data;
    if (list.given == 1 || args.rule.select == SelectRule::Given) return {given, given + list.evicted};
    return args.rule.select == SelectRule::Lowest ? lowest(args, head, list) : thinned(args, head, list);
}

Ranks selected(const EvictArgs& args, int64_t head, const ListPlan& list)
{
    Ranks ranks = evicted_entries(args, head, list);
    for (uint32_t& rank : ranks)
        rank = rank_of(args.pinned, head, rank);
    std::sort(ranks.begin(), ranks.end());
    return ranks;
}

Ranks others(uint32_t size, const Ranks& ranks)
{
    Ranks result;
    for (uint32_t rank = 0; rank < size; ++rank)
        if (!std::binary_search(ranks.begin(), ranks.end(), rank)) result.push_back(rank);
    return result;
}

void follow(uint32_t* pinned, uint32_t count, const Ranks& kept)
{
    for (uint32_t i = 0; i < count; ++i)
        pinned[i] = static_cast<uint32_t>(std::find(kept.begin(), kept.end(), pinned[i]) - kept.begin());
}

void close_up(double* row, const Ranks& kept)
{
    for (size_t i = 0; row && i < kept.size(); ++i)
        row[i] = row[kept[i]];
}

// Moves kept rows to the front by swapping.
void take_out(uint32_t* order, const Ranks& kept)
{
    for (size_t i = 0; order && i < kept.size(); ++i)
        std::swap(order[i], order[kept[i]]);
}

} // namespace

void reference_accumulate(const AccumulateArgs& args)
{
    for (int64_t head = 0; head < args.kv_heads; ++head) {
        const int64_t size = list_plan(args.plan, head).size;
        const int64_t old = size + args.question_rows - args.rows;
        double* sum = args.statistics.sum + head * args.statistics.stride;
        double* count = args.statistics.count + head * args.statistics.stride;
        for (int64_t rank = 0; rank < size; ++rank) {
            const bool came = rank >= old;
            const int64_t seen_by = came ? args.rows - (rank - old) : args.counted;
            const double column = static_cast<double>(args.columns[head * args.column_stride + rank]);
            const double past_sum = came ? 0 : args.decay * sum[rank];
            const double past_count = came ? 0 : args.decay * count[rank];
            sum[rank] = past_sum + column / static_cast<double>(args.divisor);
            count[rank] = past_count + static_cast<double>(std::min<int64_t>(args.counted, seen_by));
        }
    }
}

void reference_evict(const EvictArgs& args)
{
    std::vector<Ranks> evicted;
    // Selects for all heads before any statistics move, because a layer mean reads the statistics of all heads.
    for (int64_t head = 0; head < args.kv_heads; ++head)
        evicted.push_back(selected(args, head, list_plan(args.plan, head)));
    for (int64_t head = 0; head < args.kv_heads; ++head) {
        const Ranks& ranks = evicted[static_cast<size_t>(head)];
        const Ranks kept = others(list_plan(args.plan, head).size, ranks);
        std::copy(ranks.begin(), ranks.end(), args.dropped + head * args.dropped_stride);
        if (args.kept) std::copy(kept.begin(), kept.end(), args.kept + head * args.kept_stride);
        if (ranks.empty()) continue;
        if (args.statistics.sum) close_up(args.statistics.sum + head * args.statistics.stride, kept);
        if (args.statistics.count) close_up(args.statistics.count + head * args.statistics.stride, kept);
        if (args.order) take_out(args.order + head * args.order_stride, kept);
        if (args.pinned.ranks) follow(args.pinned.ranks + head * args.pinned.stride, held(args.pinned, head), kept);
    }
}

} // namespace palimpsest::kernels::test
