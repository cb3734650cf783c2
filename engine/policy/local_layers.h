// A policy of a model some of whose layers see only a window of the newest tokens.
#pragma once

#include <memory>
#include <span>

#include "engine/policy/policy.h"

namespace palimpsest::engine {

// The named policy in a model whose layers have these windows, 0 for none. A layer with a window of w tokens has a
// budget of min(w, c). Where w is at most c it keeps exactly the last w tokens, whatever the policy, and nothing is
// lost; pins do not hold there. In the others the policy acts as if it had only those: budgets that are shared or
// depend on the layer are spread over them alone. Of a policy that reads a part of what it keeps, layers with a
// window keep it and read it whole. With original positions they keep the last min(w, c) tokens, since there a
// token's distance is not the difference of ranks. Throws Error as make_policy does. REQUIRES: one window per
// layer.
std::unique_ptr<Policy> make_policy(const PolicySpec& spec, const PolicyContext& context,
                                    std::span<const int32_t> windows, PositionMode positions);

} // namespace palimpsest::engine
