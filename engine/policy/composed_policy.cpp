#include "engine/policy/composed_policy.h"

#include <cassert>

namespace palimpsest::engine {

namespace {

constexpr uint32_t state_version = 1;

} // namespace

ComposedPolicy::ComposedPolicy(PolicyParts parts, EvictionSchedule schedule, PolicySpec resolved, int32_t layers,
                               int32_t kv_heads, Pins pins)
    : parts_(std::move(parts)), schedule_(schedule), resolved_(std::move(resolved)), layers_(layers),
      kv_heads_(kv_heads), pins_(std::move(pins))
{
}

int32_t ComposedPolicy::nominal_budget(int32_t layer, int32_t head) const
{
    return parts_.budget.of(layer, head) + static_cast<int32_t>(pins_.tokens());
}

int32_t ComposedPolicy::list_budget(int32_t layer, int32_t head) const
{
    const int32_t size = nominal_budget(layer, head);
    return bounded() ? size + schedule_.excess - 1 : size;
}

int64_t ComposedPolicy::total_budget() const
{
    int64_t total = 0;
    for (int32_t l = 0; l < layers_; ++l)
        for (int32_t h = 0; h < kv_heads_; ++h)
            total += list_budget(l, h);
    return total;
}

bool ComposedPolicy::is_due(int32_t layer, std::span<const ListState> heads) const
{
    if (!bounded()) return false;
    for (size_t h = 0; h < heads.size(); ++h) {
        if (heads[h].size() > static_cast<size_t>(list_budget(layer, static_cast<int32_t>(h)))) return true;
    }
    return false;
}

void ComposedPolicy::select(int32_t layer, std::span<const ListState> heads,
                            std::vector<std::vector<uint32_t>>& dropped)
{
    assert(layer >= 0 && layer < layers_);
    dropped.resize(heads.size());
    for (auto& ranks : dropped)
        ranks.clear();
    if (!is_due(layer, heads)) return;

    overfull_.clear();
    ranks_.resize(heads.size());
    for (size_t h = 0; h < heads.size(); ++h)
        overfull_.push_back(unpinned(layer, static_cast<int32_t>(h), heads[h]));
    parts_.selection->select(layer, overfull_, dropped);
    for (size_t h = 0; h < heads.size() && !pins_.empty(); ++h)
        for (uint32_t& entry : dropped[h])
            entry = ranks_[h][entry];
}

Overfull ComposedPolicy::unpinned(int32_t layer, int32_t head, const ListState& list)
{
    Overfull seen{.size = static_cast<uint32_t>(list.size()),
                  .budget = static_cast<uint32_t>(nominal_budget(layer, head)),
                  .ends = parts_.ends,
                  .score = {.kind = parts_.score, .list = list}};
    if (pins_.empty()) return seen;
    auto& ranks = ranks_[static_cast<size_t>(head)];
    pins_.unpinned(list.stream, ranks);
    seen.budget -= seen.size - static_cast<uint32_t>(ranks.size());
    seen.size = static_cast<uint32_t>(ranks.size());
    seen.score.ranks = ranks;
    return seen;
}

std::vector<std::byte> ComposedPolicy::state() const
{
    StateWriter out;
    out.word(state_version);
    out.word(static_cast<uint32_t>(layers_));
    parts_.selection->save(out);
    return out.take();
}

void ComposedPolicy::restore(std::span<const std::byte> state)
{
    StateReader in(state);
    in.word_within("version", state_version, state_version);
    in.word_within("number of layers", static_cast<uint32_t>(layers_), static_cast<uint32_t>(layers_));
    auto restored = parts_.selection->clone();
    restored->load(in);
    in.expect_end();
    parts_.selection = std::move(restored);
}

std::unique_ptr<Policy> ComposedPolicy::clone() const
{
    PolicyParts parts{.budget = parts_.budget,
                      .score = parts_.score,
                      .ends = parts_.ends,
                      .selection = parts_.selection->clone(),
                      .positions = parts_.positions};
    return std::make_unique<ComposedPolicy>(std::move(parts), schedule_, resolved_, layers_, kv_heads_, pins_);
}

} // namespace palimpsest::engine
