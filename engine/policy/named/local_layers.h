// Policies for models with local layers, whose attention sees only a window of the newest tokens.
#pragma once

#include <memory>
#include <span>

#include "engine/policy/policy.h"

namespace palimpsest::engine {

// Makes the named policy for a model whose layers have these windows, 0 for none. A layer whose window of w tokens
// is at most the budget c keeps exactly the last w tokens under any policy, which loses nothing; pins have no
// effect there. The policy acts in the remaining layers as if the model had only those: budgets that are shared or
// depend on the layer are spread over them alone. With a retrieval policy, every layer with a window keeps its
// window and reads all of it. With original positions, every layer with a window keeps the last min(w, c) tokens,
// because attention counts a window in ranks, and differences of ranks are not distances in the text once other
// tokens are evicted. Throws Error as make_policy does. REQUIRES: one window per layer.
std::unique_ptr<Policy> make_policy(const PolicySpec& spec, const PolicyContext& context,
                                    std::span<const int32_t> windows, PositionMode positions);

} // namespace palimpsest::engine
