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

// Window of row statistics for signals over all queries, whose own window is infinite; PyramidKV's value.
inline constexpr int32_t statistics_window = 8;

// Which budget keys a policy's scores allow.
struct BudgetAxis {
    bool by_norm = true; // budget=auto; false if scores are not attention and have no meaningful norm
    bool by_head = true; // heads=ada; false if the heads of a layer share a mean score
};

// The slots that a policy starts from.
struct BudgetBasis {
    ProtectedEnds ends;
    int64_t slots = 0; // m of the uniform budget
    // Least tokens of a chunk for an observed allocation: the signal's window.
    int32_t window = statistics_window;
    BudgetAxis axis = {};  // the one passed to the infos, so that only described keys are accepted
    bool constant = false; // fixed profiles are not fitted to the text with schedule=once
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
// Like read_budget, without heads and floor.
std::unique_ptr<Budget> read_layers(PolicyParameters& parameters, const PolicyContext& context,
                                    const BudgetBasis& basis);
// PyramidKV's allocation over layers by `allocation` and `beta`.
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
