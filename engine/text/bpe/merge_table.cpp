#include "engine/text/bpe/merge_table.h"

#include <algorithm>
#include <array>
#include <bit>
#include <queue>

namespace palimpsest::engine {
namespace {

// Up to this size, scanning all pairs is cheaper than a heap.
constexpr size_t few = 32;

// A pair in the heap of apply_to_many. It is stale if one of its symbols has since merged.
struct Candidate {
    int32_t rank;
    int32_t left; // index of the left symbol
    TokenId result;
    TokenId left_id, right_id;

    // Orders the heap by rank, then leftmost first.
    bool operator<(const Candidate& other) const
    {
        return rank != other.rank ? rank > other.rank : left > other.left;
    }
};

} // namespace

MergeTable::MergeTable(std::span<const PieceMerge> merges)
{
    const size_t size = std::bit_ceil(std::max<size_t>(2 * merges.size(), 2));
    entries_.resize(size);
    shift_ = 64 - std::countr_zero(size);
    int32_t rank = 0;
    for (const PieceMerge& merge : merges) {
        const uint64_t pair = pair_of(merge.left, merge.right);
        size_t at = home(pair);
        while (entries_[at].pair != empty_pair && entries_[at].pair != pair)
            at = (at + 1) & (size - 1);
        if (entries_[at].pair == empty_pair) entries_[at] = {pair, rank, merge.result};
        ++rank;
    }
}

const MergeTable::Entry& MergeTable::find(TokenId left, TokenId right) const
{
    const uint64_t pair = pair_of(left, right);
    size_t at = home(pair);
    while (entries_[at].pair != pair && entries_[at].pair != empty_pair)
        at = (at + 1) & (entries_.size() - 1);
    return entries_[at];
}

size_t MergeTable::apply(std::vector<Symbol>& symbols) const
{
    if (symbols.size() < 2) return 0;
    return symbols.size() <= few ? apply_to_few(symbols) : apply_to_many(symbols);
}

size_t MergeTable::apply_to_few(std::vector<Symbol>& symbols) const
{
    std::array<const Entry*, few> pairs; // [i] merge of symbols i and i + 1
    size_t count = symbols.size(), steps = count - 1;
    for (size_t i = 0; i + 1 < count; ++i)
        pairs[i] = &find(symbols[i].id, symbols[i + 1].id);
    while (count > 1) {
        const auto end = pairs.begin() + static_cast<std::ptrdiff_t>(count - 1);
        const auto best =
            std::min_element(pairs.begin(), end, [](const Entry* a, const Entry* b) { return a->rank < b->rank; });
        if ((*best)->rank == no_merge) break;
        const auto i = static_cast<size_t>(best - pairs.begin());
        symbols[i] = {(*best)->result, symbols[i].bytes + symbols[i + 1].bytes};
        symbols.erase(symbols.begin() + static_cast<std::ptrdiff_t>(i) + 1);
        std::copy(best + 1, end, best);
        --count;
        if (i > 0) pairs[i - 1] = &find(symbols[i - 1].id, symbols[i].id);
        if (i + 1 < count) pairs[i] = &find(symbols[i].id, symbols[i + 1].id);
        steps += 2;
    }
    return steps;
}

size_t MergeTable::apply_to_many(std::vector<Symbol>& symbols) const
{
    const auto count = static_cast<int32_t>(symbols.size());
    std::vector<int32_t> next(symbols.size()), previous(symbols.size());
    std::vector<Candidate> first;
    size_t steps = 0;
    const auto candidate = [&](int32_t left, int32_t right, auto&& keep) {
        ++steps;
        const TokenId left_id = symbols[static_cast<size_t>(left)].id;
        const TokenId right_id = symbols[static_cast<size_t>(right)].id;
        const Entry& entry = find(left_id, right_id);
        if (entry.rank != no_merge) keep(Candidate{entry.rank, left, entry.result, left_id, right_id});
    };
    for (int32_t i = 0; i < count; ++i) {
        previous[static_cast<size_t>(i)] = i - 1;
        next[static_cast<size_t>(i)] = i + 1 < count ? i + 1 : -1;
        if (i + 1 < count) candidate(i, i + 1, [&](const Candidate& c) { first.push_back(c); });
    }
    std::priority_queue<Candidate> heap(std::less<Candidate>(), std::move(first));
    while (!heap.empty()) {
        const Candidate best = heap.top();
        heap.pop();
        ++steps;
        Symbol& left = symbols[static_cast<size_t>(best.left)];
        const int32_t right_index = next[static_cast<size_t>(best.left)];
        // A merged symbol keeps the index of its left part; the right part's id becomes -1, so stale pairs are
        // detected.
        if (left.id != best.left_id || right_index < 0) continue;
        Symbol& right = symbols[static_cast<size_t>(right_index)];
        if (right.id != best.right_id) continue;
        left = {best.result, left.bytes + right.bytes};
        right.id = -1;
        const int32_t after = next[static_cast<size_t>(right_index)];
        next[static_cast<size_t>(best.left)] = after;
        if (after >= 0) previous[static_cast<size_t>(after)] = best.left;
        const auto push = [&](const Candidate& c) { heap.push(c); };
        if (const int32_t before = previous[static_cast<size_t>(best.left)]; before >= 0)
            candidate(before, best.left, push);
        if (after >= 0) candidate(best.left, after, push);
    }
    std::erase_if(symbols, [](const Symbol& symbol) { return symbol.id < 0; });
    return steps;
}

} // namespace palimpsest::engine
