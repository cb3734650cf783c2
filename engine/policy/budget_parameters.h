// The keys of axis A that scored policies share: `budget`, `allocation`, `beta`, `threshold`, `norm`, `mask_sinks`,
// `heads`, `floor`.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "engine/policy/budget.h"
#include "engine/policy/fixed_budget.h"
#include "engine/policy/parameters.h"
#include "engine/policy/protect.h"

namespace palimpsest::engine {

// For signals over all queries, whose omega no chunk reaches: as in PyramidKV.
inline constexpr int32_t statistics_window = 8;

// What of axis A a policy's scores allow.
struct BudgetAxis {
    bool by_norm = true; // budget=auto: not where scores are no attention, whose norm has a meaning
    bool by_head = true; // heads=ada: not where heads of a layer share a mean score
};

// What slots a policy starts from.
struct BudgetBasis {
    ProtectedEnds ends;
    int64_t slots = 0; // m of the uniform budget
    // Tokens of a chunk whose attention is enough for an observed allocation: omega of the signal.
    int32_t window = statistics_window;
    BudgetAxis axis = {}; // that of the infos: what is not described is not taken
    bool constant = false; // fixed profiles stay as they are where the length of the text is known, too
};

// Adds the infos of the keys.
void add_budget_infos(std::vector<ParameterInfo>& infos, const BudgetAxis& axis = {});
void add_layer_infos(std::vector<ParameterInfo>& infos, const BudgetAxis& axis = {}); // all but heads and floor
void add_head_infos(std::vector<ParameterInfo>& infos);
void add_allocation_infos(std::vector<ParameterInfo>& infos);

// budget=uniform (default), pyramid or auto; then heads. Throws Error (Usage).
std::unique_ptr<Budget> read_budget(PolicyParameters& parameters, const PolicyContext& context,
                                    const BudgetBasis& basis);
// The first part of it.
std::unique_ptr<Budget> read_layers(PolicyParameters& parameters, const PolicyContext& context,
                                    const BudgetBasis& basis);
// PyramidKV's allocation over layers by `allocation` and `beta`.
std::unique_ptr<Budget> read_allocation(PolicyParameters& parameters, const PolicyContext& context,
                                        const BudgetBasis& basis);
// heads=uniform (default) or ada over the slots that `layers` gives; those where heads have no scores of their own.
std::unique_ptr<Budget> read_heads(PolicyParameters& parameters, const PolicyContext& context,
                                   const BudgetBasis& basis, std::unique_ptr<Budget> layers);
// With a floor, as read_heads with heads=ada.
std::unique_ptr<Budget> share_heads(PolicyParameters& parameters, const PolicyContext& context,
                                    const BudgetBasis& basis, std::unique_ptr<Budget> layers);

// Slots between the ends, at least `least`. Throws Error (Usage).
int64_t require_slots(const PolicyParameters& parameters, const PolicyContext& context, const ProtectedEnds& ends,
                      int64_t least = 1);
// That the policy is not asked to do without a budget. Throws Error (Usage).
void require_budget(const PolicyParameters& parameters, const PolicyContext& context);

} // namespace palimpsest::engine
