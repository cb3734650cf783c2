#include "engine/policy/composed_policy.h"

#include <cassert>

namespace palimpsest::engine {

namespace {

constexpr uint32_t state_version = 1;

} // namespace

ComposedPolicy::ComposedPolicy(PolicyParts parts, EvictionSchedule schedule, PolicySpec resolved, int32_t layers)
    : parts_(std::move(parts)), schedule_(schedule), resolved_(std::move(resolved)), layers_(layers)
{
}

int32_t ComposedPolicy::list_budget(int32_t layer, int32_t head) const
{
    const int32_t size = parts_.budget.of(layer, head);
    return bounded() ? size + schedule_.excess - 1 : size;
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
    for (size_t h = 0; h < heads.size(); ++h) {
        overfull_.push_back({.size = static_cast<uint32_t>(heads[h].size()),
                             .budget = static_cast<uint32_t>(parts_.budget.of(layer, static_cast<int32_t>(h))),
                             .ends = parts_.ends,
                             .score = {.kind = parts_.score, .list = heads[h]}});
    }
    parts_.selection->select(layer, overfull_, dropped);
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
    return std::make_unique<ComposedPolicy>(std::move(parts), schedule_, resolved_, layers_);
}

} // namespace palimpsest::engine
