#include "tests/support/reference_choices.h"

#include <algorithm>
#include <numeric>
#include <set>

#include "tests/support/reference_shaping.h"

namespace palimpsest::tests {

namespace {

struct Block {
    int first = 0, last = 0;
    double score = 0;
    bool taken = false;
    int size() const { return last - first; }
};

std::vector<Block> cut_into_blocks(const ReferenceSettings& settings, const std::vector<double>& score)
{
    std::vector<Block> blocks;
    const int n = static_cast<int>(score.size());
    for (int first = 0; first < n; first += settings.block) {
        Block block{.first = first, .last = std::min(n, first + settings.block)};
        for (int j = block.first; j < block.last; ++j)
            block.score += score[static_cast<size_t>(j)];
        if (!settings.sums_blocks) block.score /= block.size();
        blocks.push_back(block);
    }
    return blocks;
}

// Takes up to `quota` blocks of [first, last): the best ones that are not taken yet.
void take_best(std::vector<Block>& blocks, int first, int last, int quota)
{
    for (; quota > 0; --quota) {
        Block* best = nullptr;
        for (int i = first; i < last; ++i) {
            Block& block = blocks[static_cast<size_t>(i)];
            if (!block.taken && (!best || block.score > best->score)) best = &block;
        }
        if (!best) return;
        best->taken = true;
    }
}

int part_of(int whole, int parts, int index) // whole / parts, and one more for the first whole % parts parts
{
    return whole / parts + (index < whole % parts ? 1 : 0);
}

// Takes the best remaining blocks that still fit, in score order.
void fill_with_blocks(std::vector<Block>& blocks, int slots)
{
    for (const Block& block : blocks)
        if (block.taken) slots -= block.size();
    std::vector<double> scores;
    scores.reserve(blocks.size());
    for (const Block& block : blocks)
        scores.push_back(block.score);
    for (const int i : best_first(scores)) {
        Block& block = blocks[static_cast<size_t>(i)];
        if (block.taken || block.size() > slots) continue;
        block.taken = true;
        slots -= block.size();
    }
}

// The ranks of sinks and recent tokens, ascending.
std::vector<int> protected_ranks(const ReferenceSettings& settings, int n)
{
    std::vector<int> ranks;
    for (int j = 0; j < n; ++j)
        if (j < settings.s || j >= n - settings.w) ranks.push_back(j);
    return ranks;
}

// The finaliser of SplitMix64 after one step of its state.
uint64_t scrambled(uint64_t state)
{
    uint64_t z = state + 11400714819323198485u;
    z ^= z >> 30;
    z *= 13787848793156543929u;
    z ^= z >> 27;
    z *= 10723151780598845931u;
    z ^= z >> 31;
    return z;
}

} // namespace

uint64_t random_place(uint64_t seed, int layer, int head, uint32_t stream)
{
    const uint64_t in_layer = scrambled(scrambled(seed) ^ static_cast<uint64_t>(layer));
    return scrambled(scrambled(in_layer ^ static_cast<uint64_t>(head)) ^ stream);
}

std::vector<int> choose_randomly(uint64_t seed, int layer, int head, const std::vector<uint32_t>& streams,
                                 int slots)
{
    std::vector<int> chosen;
    for (size_t i = 0; i < streams.size(); ++i) {
        const uint64_t own = random_place(seed, layer, head, streams[i]);
        const auto before = std::count_if(streams.begin(), streams.end(), [&](uint32_t other) {
            return random_place(seed, layer, head, other) < own;
        });
        if (before < slots) chosen.push_back(static_cast<int>(i));
    }
    return chosen;
}

std::vector<int> choose_blocks(const ReferenceSettings& settings, const std::vector<double>& score, int slots)
{
    std::vector<int> chosen;
    if (static_cast<int>(score.size()) <= slots) {
        chosen.resize(score.size());
        std::iota(chosen.begin(), chosen.end(), 0);
        return chosen;
    }
    std::vector<Block> blocks = cut_into_blocks(settings, score);
    const int count = static_cast<int>(blocks.size()), quota = slots / settings.block;
    const int rounds = static_cast<int>(settings.rounds.size());
    for (int r = 0; r < rounds; ++r) {
        const int groups = settings.rounds[static_cast<size_t>(r)];
        for (int g = 0; g < groups; ++g) {
            const auto border = [&](int index) {
                return static_cast<int>(static_cast<int64_t>(index) * count / groups);
            };
            take_best(blocks, border(g), border(g + 1), part_of(part_of(quota, rounds, r), groups, g));
        }
    }
    fill_with_blocks(blocks, slots);

    std::set<int> stays;
    for (const Block& block : blocks)
        for (int i = block.first; block.taken && i < block.last; ++i)
            stays.insert(i);
    for (const int i : best_first(score))
        if (static_cast<int>(stays.size()) < slots) stays.insert(i);
    return {stays.begin(), stays.end()};
}

std::vector<Representative> choose_representatives(const ReferenceSettings& settings,
                                                   const std::vector<double>& score, int slots)
{
    std::vector<Representative> out;
    const auto n = static_cast<int64_t>(score.size());
    const auto blocks = std::min<int64_t>(slots, n);
    for (int64_t i = 0; i < blocks; ++i) {
        Representative block{.first = static_cast<int>(i * n / blocks),
                             .last = static_cast<int>((i + 1) * n / blocks)};
        block.stays = block.first;
        if (settings.representative == "last") block.stays = block.last - 1;
        if (settings.representative == "avg") block.stays = (block.first + block.last - 1) / 2;
        for (int j = block.first; settings.representative == "max" && j < block.last; ++j)
            if (score[static_cast<size_t>(j)] > score[static_cast<size_t>(block.stays)]) block.stays = j;
        out.push_back(block);
    }
    return out;
}

std::vector<int> choose_by_norm(const ReferenceSettings& settings, std::vector<int> order, int count, int more)
{
    const int keep = std::min(settings.c, std::max({count, settings.s + settings.w, settings.least}));
    order.resize(std::min(order.size(), static_cast<size_t>(keep) + static_cast<size_t>(more)));
    std::sort(order.begin(), order.end());
    return order;
}

std::vector<int> choose_by_mass(const ReferenceSettings& settings, const std::vector<double>& score, int more)
{
    const int n = static_cast<int>(score.size()), first = std::min(settings.s, n);
    const int last = std::max(first, n - settings.w);
    const double total = std::accumulate(score.begin(), score.end(), 0.0);
    double mass = 0;
    int selectable = 0;
    for (const int rank : best_first(score)) {
        if (mass >= settings.p * total - 1e-12) break;
        mass += score[static_cast<size_t>(rank)];
        if (rank >= first && rank < last) ++selectable;
    }
    std::vector<int> stays = protected_ranks(settings, n);
    const int slots = std::min(selectable, settings.selectable()) + more;
    for (const int i : top_k({score.begin() + first, score.begin() + last}, slots))
        stays.push_back(first + i);
    std::sort(stays.begin(), stays.end());
    return stays;
}

} // namespace palimpsest::tests
