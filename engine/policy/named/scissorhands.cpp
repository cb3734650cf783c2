#include <cmath>

#include "engine/policy/named/named_policy.h"
#include "engine/policy/named/window_parameters.h"
#include "engine/policy/selection/top_k.h"

namespace palimpsest::engine {

namespace {

constexpr BudgetAxis axis{.by_norm = false};

// Evicts down to `less` entries below the budget, so that the list can grow again before the next eviction
// (hysteresis).
class DropTo final : public StatelessSelection<DropTo> {
public:
    explicit DropTo(uint32_t less) : less_(less) {}
    bool reads_shaped() const override { return true; }
    void select(int32_t layer, std::span<const ListCut> heads, std::vector<std::vector<uint32_t>>& dropped) override
    {
        best_.select(layer, lowered(heads), dropped);
    }
    uint32_t max_evicted_per_token() const override { return less_ + 1; }
    bool plans() const override { return best_.plans(); }
    kernels::SelectionRule rule() const override { return best_.rule(); }
    void plan(int32_t layer, std::span<const ListCut> heads, EvictionPlan& plan) override
    {
        best_.plan(layer, lowered(heads), plan);
    }

private:
    std::span<const ListCut> lowered(std::span<const ListCut> heads)
    {
        lowered_.assign(heads.begin(), heads.end());
        for (ListCut& list : lowered_)
            if (list.excess() > 0) list.budget -= std::min(less_, list.budget);
        return lowered_;
    }

    uint32_t less_;
    TopK best_;
    std::vector<ListCut> lowered_; // scratch
};

PolicyParts compose(PolicyParameters& parameters, const PolicyContext& context)
{
    const ProtectedEnds ends{.sinks = parameters.whole("sinks", 0), .recent = parameters.whole("recent", 10)};
    const int32_t window = parameters.positive("window", 400);
    const double drop = parameters.number("drop", 0, 0, 1);
    const int64_t slots = require_slots(parameters, context, ends);
    const auto less = static_cast<int64_t>(drop * context.budget + 1e-9);
    if (less > slots)
        parameters.refuse(Text("drop={0} evicts {1} tokens at once, and only {2} are not protected",
                               number_text(drop), less, slots),
                          Text("lower drop, sinks or recent"));
    auto budget = read_budget(parameters, context, {.ends = ends, .slots = slots, .window = window, .axis = axis});
    if (less > 0 && !budget->is_uniform())
        parameters.refuse(Text("drop={0} needs a budget that all lists share equally", number_text(drop)),
                          Text("leave drop out, or budget and heads"));
    return {.budget = std::move(budget),
            .signal = {.kind = ScoreKind::FewLow, .window = window},
            .selection = std::make_unique<DropTo>(static_cast<uint32_t>(less)),
            .ends = ends,
            .positions = PositionMode::Contiguous};
}

} // namespace

NamedPolicy scissorhands_policy()
{
    PolicyInfo info{
        .name = "scissorhands",
        .keeps = Text("Keeps the tokens that were rarely unimportant: only few recent queries gave them "
                      "less than a uniform share of attention."),
        .signals = Text("how many of the last `window` queries gave a token less than a uniform share of "
                        "attention"),
        .cost = cost_of_window(),
        .positions = Text("contiguous"),
        .paper = Text::verbatim("Scissorhands (arXiv 2305.17118)"),
        .parameters = {sinks_info(),
                       recent_info("10"),
                       window_info(400),
                       {.key = "drop",
                        .meaning = Text("share of the budget that is evicted in addition when a list exceeds the "
                                        "budget, so that it can grow again"),
                        .default_text = Text::verbatim("0"),
                        .range = Text("{0} to {1}, at most the slots between sinks and recent tokens", 0, 1)}}};
    add_budget_infos(info.parameters, axis);
    return {.info = std::move(info), .compose = compose};
}

} // namespace palimpsest::engine
