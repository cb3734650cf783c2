// Random eviction plans for every selection rule, with the statistics and order lists that they apply to.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "kernels/eviction.h"

namespace palimpsest::kernels::test {

// The kind of scores in the statistics.
enum class Values : uint8_t {
    Any,     // almost all distinct
    Few,     // a handful of values, including zeros of both signs
    Same,    // all equal
    Strange, // includes infinities and NaN
};

struct EvictionSetting {
    SelectionRule rule;
    int32_t lists = 3;
    uint32_t max_size = 300;
    Values values = Values::Any;
    bool one_leaves = false; // evicts one token of every list, if the rule permits it
    bool after_token = true; // changes order lists; false: writes the kept ranks, as after a chunk
    bool with_pins = false;
};

// Owns the host memory that an EvictArgs points to. The memory beyond what evict() uses is poisoned.
class EvictionCase {
public:
    static constexpr uint32_t poison = 0xdeadbeef;
    static constexpr double poison_value = -1e300; // the lowest score, so that reading it changes the result

    EvictionCase(const EvictionSetting& with, uint32_t seed) : setting(with), random_(seed)
    {
        const auto lists = static_cast<size_t>(setting.lists);
        plans.resize(lists);
        stride = setting.max_size + (setting.with_pins ? 37 : 7);
        const auto words = lists * static_cast<size_t>(stride);
        sum.assign(words, poison_value);
        count.assign(words, 1.0);
        order.assign(words, poison);
        dropped.assign(words, poison);
        kept.assign(words, poison);
        if (setting.with_pins) pinned.assign(words, poison);
        held.assign(lists, 0);
        for (size_t h = 0; h < lists; ++h)
            make_list(h);
        std::vector<uint32_t> headers(lists * 8);
        std::memcpy(headers.data(), plans.data(), headers.size() * sizeof(uint32_t));
        plan = headers;
        plan.insert(plan.end(), data_.begin(), data_.end());
    }

    EvictArgs args()
    {
        EvictArgs result;
        result.kv_heads = setting.lists;
        result.plan = plan.data();
        result.rule = setting.rule;
        for (const ListPlan& list : plans) {
            result.max_size = std::max<int64_t>(result.max_size, list.size);
            result.max_evicted = std::max<int64_t>(result.max_evicted, list.evicted);
        }
        if (has_statistics()) result.statistics = {sum.data(), count.data(), stride};
        if (setting.after_token) {
            result.order = order.data();
            result.order_stride = stride;
        } else {
            result.kept = kept.data();
            result.kept_stride = stride;
        }
        result.dropped = dropped.data();
        result.dropped_stride = stride;
        if (setting.with_pins) result.pinned = {pinned.data(), held.data(), stride};
        return result;
    }
    bool has_statistics() const { return setting.rule.score != ScoreRule::None; }

    EvictionSetting setting;
    std::vector<ListPlan> plans; // [lists]
    std::vector<uint32_t> plan;  // `plans` followed by their data
    int64_t stride = 0;          // row length of all arrays below
    std::vector<double> sum, count;
    std::vector<uint32_t> order, dropped, kept;
    std::vector<uint32_t> pinned, held; // pinned: [lists, stride] or empty; held: [lists]

private:
    uint32_t pick(uint32_t low, uint32_t high)
    {
        return std::uniform_int_distribution<uint32_t>(low, high)(random_);
    }
    bool one_in(uint32_t n) { return pick(1, n) == 1; }
    uint32_t header_words() const { return static_cast<uint32_t>(setting.lists) * 8; }
    uint32_t add(const std::vector<uint32_t>& words)
    {
        const auto at = static_cast<uint32_t>(data_.size());
        data_.insert(data_.end(), words.begin(), words.end());
        return header_words() + at;
    }

    void make_list(size_t head)
    {
        ListPlan& list = plans[head];
        const SelectionRule& rule = setting.rule;
        list.size = one_in(3) ? setting.max_size : pick(1, setting.max_size);
        if (rule.layer_mean) {
            if (head == 0)
                plan_list(list);
            else
                list = entries_of(0);
        } else if (head > 0 && one_in(4)) {
            list = entries_of(head - 1); // shares the data of the previous list's plan
        } else {
            plan_list(list);
        }
        if (setting.with_pins) pin_some(head);
        fill_statistics(head);
        fill_order(head);
    }

    ListPlan entries_of(size_t head) const
    {
        ListPlan list = plans[head];
        list.size -= held[head];
        return list;
    }

    // Adds pinned ranks to the list. The plan stays the same, because it numbers entries, which skip pinned ranks.
    void pin_some(size_t head)
    {
        const uint32_t entries = plans[head].size;
        const uint32_t most = static_cast<uint32_t>(stride) - setting.max_size;
        held[head] = one_in(4) ? 0 : pick(1, most);
        plans[head].size = entries + held[head];
        std::vector<uint32_t> ranks(plans[head].size);
        std::iota(ranks.begin(), ranks.end(), 0u);
        std::shuffle(ranks.begin(), ranks.end(), random_);
        std::sort(ranks.begin(), ranks.begin() + held[head]);
        std::copy_n(ranks.begin(), held[head], pinned.begin() + static_cast<std::ptrdiff_t>(head) * stride);
    }

    void plan_list(ListPlan& list)
    {
        const bool nothing = one_in(6), given = setting.rule.select == SelectRule::Given || one_in(6);
        if (nothing) {
            list.first = list.end = list.data = list.waves = list.wave_ends = poison; // must not be read
        } else if (given) {
            plan_given(list);
        } else if (setting.rule.select == SelectRule::Lowest) {
            plan_lowest(list);
        } else {
            plan_tiles(list);
        }
    }

    uint32_t some_of(uint32_t most)
    {
        if (setting.one_leaves || one_in(4)) return 1;
        if (one_in(8)) return most;
        return one_in(2) ? pick(1, std::min(most, 9u)) : pick(1, most);
    }

    void plan_given(ListPlan& list)
    {
        std::vector<uint32_t> ranks(list.size);
        std::iota(ranks.begin(), ranks.end(), 0u);
        std::shuffle(ranks.begin(), ranks.end(), random_);
        ranks.resize(some_of(list.size));
        std::sort(ranks.begin(), ranks.end());
        list.evicted = static_cast<uint32_t>(ranks.size());
        list.data = add(ranks);
        list.given = setting.rule.select == SelectRule::Given ? 0 : 1;
    }

    void plan_lowest(ListPlan& list)
    {
        list.first = one_in(2) ? 0 : pick(0, list.size - 1);
        list.end = one_in(2) ? list.size : pick(list.first + 1, list.size);
        list.evicted = some_of(list.end - list.first);
    }

    // Generates waves of eviction tiles; a tile takes neighbours among the units that earlier waves kept.
    void plan_tiles(ListPlan& list)
    {
        const SelectionRule& rule = setting.rule;
        const auto tile = static_cast<uint32_t>(rule.tile), unit = static_cast<uint32_t>(rule.unit);
        const auto stays = static_cast<uint32_t>(rule.kept);
        if (list.size < tile * unit) list.size = std::min(tile * unit + pick(0, 40), setting.max_size);
        list.first = pick(0, std::min(list.size - tile * unit, 9u));
        std::vector<uint32_t> places((list.size - list.first) / unit), tiles, ends;
        std::iota(places.begin(), places.end(), 0u);
        const uint32_t waves = setting.one_leaves ? 1 : pick(1, 5);
        for (uint32_t wave = 0; wave < waves && places.size() >= tile; ++wave) {
            std::vector<uint32_t> left;
            const uint32_t rarity = pick(1, 4);
            for (size_t at = 0; at < places.size();) {
                const bool enough = setting.one_leaves && !tiles.empty();
                if (enough || at + tile > places.size() || (rarity > 1 && !one_in(rarity))) {
                    left.push_back(places[at++]);
                    continue;
                }
                const auto begin = places.begin() + static_cast<std::ptrdiff_t>(at);
                tiles.insert(tiles.end(), begin, begin + tile);
                left.insert(left.end(), begin, begin + stays);
                at += tile;
            }
            places = left;
            ends.push_back(static_cast<uint32_t>(tiles.size()) / tile);
        }
        list.evicted = static_cast<uint32_t>(tiles.size()) / tile * (tile - stays) * unit;
        if (list.evicted == 0) return;
        list.data = add(tiles);
        list.waves = static_cast<uint32_t>(ends.size());
        list.wave_ends = add(ends);
    }

    double some_sum()
    {
        constexpr double few[] = {0.0, -0.0, 0.5, 1.0, -1.0};
        constexpr double infinity = std::numeric_limits<double>::infinity();
        switch (setting.values) {
        case Values::Any:
            return std::ldexp(std::normal_distribution<double>()(random_), static_cast<int>(pick(0, 8)));
        case Values::Few:
            return few[pick(0, 4)];
        case Values::Same:
            return 0.25;
        case Values::Strange:
            break;
        }
        if (one_in(6)) return std::numeric_limits<double>::quiet_NaN();
        return one_in(6) ? (one_in(2) ? infinity : -infinity) : few[pick(0, 4)];
    }

    double some_count()
    {
        if (setting.values == Values::Any) return std::uniform_real_distribution<double>(0.5, 900.0)(random_);
        if (setting.values == Values::Strange && one_in(6)) return 0;
        return setting.values == Values::Same ? 3 : static_cast<double>(pick(1, 2));
    }

    void fill_statistics(size_t head)
    {
        for (size_t rank = 0; rank < plans[head].size; ++rank) {
            sum[head * static_cast<size_t>(stride) + rank] = some_sum();
            count[head * static_cast<size_t>(stride) + rank] = some_count();
        }
    }

    void fill_order(size_t head)
    {
        const auto begin = order.begin() + static_cast<std::ptrdiff_t>(head) * stride;
        std::iota(begin, begin + stride, 0u);
        std::shuffle(begin, begin + stride, random_);
    }

    std::mt19937 random_;
    std::vector<uint32_t> data_;
};

} // namespace palimpsest::kernels::test
