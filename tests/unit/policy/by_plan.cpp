#include "tests/unit/policy/by_plan.h"

#include <algorithm>
#include <set>

#include "tests/support/catch.h"
#include "tests/support/reference_eviction.h"

namespace palimpsest::tests {

using kernels::ListPlan;
using kernels::SelectionRule;
using kernels::SelectRule;

namespace {

constexpr uint32_t nothing = 0xFFFFFFFF;

std::vector<uint32_t> words_of(const engine::EvictionPlan& plan)
{
    std::vector<uint32_t> words(plan.words());
    plan.write(words.data());
    return words;
}

// Returns `count` words of the plan's data; throws the fault as a text if they are outside of the plan.
std::span<const uint32_t> data_of(std::span<const uint32_t> words, size_t lists, uint32_t from, size_t count)
{
    if (from < lists * 8 || from + count > words.size()) throw std::string("points outside of the plan's data");
    return words.subspan(from, count);
}

void check_ascending(std::span<const uint32_t> ranks, uint32_t end, const std::string& what)
{
    if (std::ranges::adjacent_find(ranks, std::greater_equal()) != ranks.end()) throw what + " do not ascend";
    if (!ranks.empty() && ranks.back() >= end) throw what + " lie outside of the list";
}

// Checks the tiles of a list of `list.size` entries.
void check_tiles(std::span<const uint32_t> words, size_t lists, const ListPlan& list, const SelectionRule& rule)
{
    const auto tile = static_cast<size_t>(rule.tile), unit = static_cast<size_t>(rule.unit);
    const auto ends = data_of(words, lists, list.wave_ends, list.waves);
    if (ends.empty() || ends.front() == 0) throw std::string("has no tiles");
    check_ascending(ends, nothing, "wave ends");
    const size_t tiles = ends.back();
    if (tiles * static_cast<size_t>(rule.tile - rule.kept) * unit != list.evicted)
        throw std::string("drops another number than its tiles do");
    const auto places = data_of(words, lists, list.data, tiles * tile);
    uint32_t begin = 0;
    for (const uint32_t end : ends) {
        const auto wave = places.subspan(begin * tile, (end - begin) * tile);
        if (std::set(wave.begin(), wave.end()).size() != wave.size())
            throw std::string("has a place twice in one wave");
        begin = end;
    }
    for (size_t at = 0; at < places.size(); at += tile)
        check_ascending(places.subspan(at, tile), static_cast<uint32_t>((list.size - list.first) / unit),
                        "places of a tile");
}

void check_list(std::span<const uint32_t> words, size_t lists, const ListPlan& list, const SelectionRule& rule)
{
    if (list.evicted == 0) return;
    if (list.given == 1 || rule.select == SelectRule::Given) {
        check_ascending(data_of(words, lists, list.data, list.evicted), list.size, "given ranks");
    } else if (rule.select == SelectRule::Lowest) {
        if (list.first > list.end || list.end > list.size) throw std::string("has no candidates");
        if (list.evicted > list.end - list.first) throw std::string("drops more than its candidates");
    } else {
        check_tiles(words, lists, list, rule);
    }
}

// One row of `stride` values per list, as a backend stores them.
std::vector<double> in_rows(std::span<const engine::ListState> heads, size_t stride,
                            std::span<const double> engine::ListState::*field)
{
    std::vector<double> rows(heads.size() * stride);
    for (size_t h = 0; h < heads.size(); ++h)
        std::ranges::copy(heads[h].*field, rows.begin() + static_cast<std::ptrdiff_t>(h * stride));
    return rows;
}

} // namespace

std::string fault_of(const engine::EvictionPlan& plan, const SelectionRule& rule, std::span<const uint32_t> sizes,
                     std::span<const uint32_t> pinned)
{
    const std::vector<uint32_t> words = words_of(plan);
    if (plan.lists() != sizes.size()) return "has another number of lists";
    for (size_t h = 0; h < sizes.size(); ++h) {
        try {
            if (plan.list(h).size != sizes[h]) throw std::string("has another size");
            ListPlan entries = plan.list(h);
            if (!pinned.empty()) entries.size -= pinned[h];
            check_list(words, plan.lists(), entries, rule);
        } catch (const std::string& fault) {
            return "list " + std::to_string(h) + " " + fault;
        }
    }
    return "";
}

void ByPlan::select(int32_t layer, std::span<const engine::ListState> heads,
                    std::vector<std::vector<uint32_t>>& dropped)
{
    std::vector<uint32_t> sizes;
    for (const engine::ListState& list : heads)
        sizes.push_back(static_cast<uint32_t>(list.size()));
    look_for_pins(layer, heads);
    policy_->plan(layer, sizes, pinned_, plan_);
    REQUIRE(fault_of(plan_, policy_->selection_rule(), sizes, pinned_) == "");
    REQUIRE(policy_->merges().empty());
    evict(heads, dropped);
}

void ByPlan::look_for_pins(int32_t layer, std::span<const engine::ListState> heads)
{
    pinned_.clear();
    pinned_ranks_.clear();
    if (!policy_->holds_pins(layer)) return;
    stride_ = pins_.tokens();
    std::vector<uint32_t> ranks;
    for (const engine::ListState& list : heads) {
        pins_.pinned(list.stream, ranks);
        pinned_.push_back(static_cast<uint32_t>(ranks.size()));
        ranks.resize(stride_, nothing);
        pinned_ranks_.insert(pinned_ranks_.end(), ranks.begin(), ranks.end());
    }
}

void ByPlan::evict(std::span<const engine::ListState> heads, std::vector<std::vector<uint32_t>>& dropped)
{
    dropped.assign(heads.size(), {});
    if (!plan_.evicts_any()) return;
    const size_t stride = std::ranges::max(heads, {}, &engine::ListState::size).size();
    const std::vector<uint32_t> words = words_of(plan_);
    std::vector<double> sum = in_rows(heads, stride, &engine::ListState::sum);
    std::vector<double> count = in_rows(heads, stride, &engine::ListState::count);
    std::vector<uint32_t> gone(heads.size() * stride, nothing);
    const bool scored = policy_->signals().any();
    kernels::test::reference_evict({.kv_heads = static_cast<int32_t>(heads.size()),
                                    .plan = words.data(),
                                    .max_size = static_cast<int64_t>(stride),
                                    .max_evicted = static_cast<int64_t>(stride),
                                    .rule = policy_->selection_rule(),
                                    .statistics = {.sum = scored ? sum.data() : nullptr,
                                                   .count = scored ? count.data() : nullptr,
                                                   .stride = static_cast<int64_t>(stride)},
                                    .pinned = {.ranks = pinned_.empty() ? nullptr : pinned_ranks_.data(),
                                               .held = pinned_.data(),
                                               .stride = static_cast<int64_t>(stride_)},
                                    .dropped = gone.data(),
                                    .dropped_stride = static_cast<int64_t>(stride)});
    for (size_t h = 0; h < heads.size(); ++h) {
        const auto row = std::span<const uint32_t>(gone).subspan(h * stride, stride);
        dropped[h].assign(row.begin(), std::ranges::find(row, nothing));
        REQUIRE(dropped[h].size() == plan_.list(h).evicted);
    }
}

} // namespace palimpsest::tests
