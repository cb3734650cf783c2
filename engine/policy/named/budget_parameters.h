// The budget keys that scored policies share: `budget`, `allocation`, `beta`, `threshold`, `norm`, `mask_sinks`,
// `heads`, `floor`.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "engine/policy/budgets/budget.h"
#include "engine/policy/budgets/fixed_budget.h"
#include "engine/policy/named/parameters.h"
#include "engine/policy/protect.h"

namespace palimpsest::engine {

// BudgetBasis::window for signals over all queries, which have no window of their own; PyramidKV's value.
inline constexpr int32_t statistics_window = 8;

// Which budget keys a policy's scores allow.
struct BudgetAxis {
    bool by_norm = true; // budget=auto; false if scores are not attention and have no meaningful norm
    bool by_head = true; // heads=ada; false if the heads of a layer share a mean score
};

// The slots that a policy starts from.
struct BudgetBasis {
    ProtectedEnds ends;
    int64_t slots = 0; // m: slots of a list if all lists get equally many
    // An allocation that observes attention ignores chunks of fewer tokens than this, the window of the signal.
    int32_t window = statistics_window;
    BudgetAxis axis = {};  // as passed to add_budget_infos, so that only described keys are read
    bool constant = false; // true: a profile is not fitted to the text, even with schedule=once
};

// Append the descriptions of the keys.
void add_budget_infos(std::vector<ParameterInfo>& infos, const BudgetAxis& axis = {});
void add_layer_infos(std::vector<ParameterInfo>& infos, const BudgetAxis& axis = {}); // without heads and floor
void add_head_infos(std::vector<ParameterInfo>& infos);
// `with_pyramid`: the keys have an effect with budget=pyramid only.
void add_allocation_infos(std::vector<ParameterInfo>& infos, bool with_pyramid = false);

// Reads all keys: budget=uniform (default), pyramid or auto; then heads. Throws Error (Usage).
std::unique_ptr<Budget> read_budget(PolicyParameters& parameters, const PolicyContext& context,
                                    const BudgetBasis& basis);
// Like read_budget, but does not read heads and floor.
std::unique_ptr<Budget> read_layers(PolicyParameters& parameters, const PolicyContext& context,
                                    const BudgetBasis& basis);
// Reads `allocation` and `beta`: PyramidKV's division of slots between layers.
std::unique_ptr<Budget> read_allocation(PolicyParameters& parameters, const PolicyContext& context,
                                        const BudgetBasis& basis);
// Reads heads=uniform (default) or ada over the slots of `layers`; returns `layers` if heads share a mean score.
std::unique_ptr<Budget> read_heads(PolicyParameters& parameters, const PolicyContext& context,
                                   const BudgetBasis& basis, std::unique_ptr<Budget> layers);
// Like read_heads with heads=ada: reads `floor`.
std::unique_ptr<Budget> share_heads(PolicyParameters& parameters, const PolicyContext& context,
                                    const BudgetBasis& basis, std::unique_ptr<Budget> layers);

// Returns the slots between the protected ends. Throws Error (Usage) if there are fewer than `least`.
int64_t require_slots(const PolicyParameters& parameters, const PolicyContext& context, const ProtectedEnds& ends,
                      int64_t least = 1);
// Throws Error (Usage) for no_budget.
void require_budget(const PolicyParameters& parameters, const PolicyContext& context);

} // namespace palimpsest::engine
