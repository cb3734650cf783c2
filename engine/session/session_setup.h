// The parts that a session is built from: checked options, the policy they name, and the shapes of its cache and
// its forward pass.
#pragma once

#include <memory>
#include <span>

#include "engine/cache/kv_cache.h"
#include "engine/model/forward/transformer.h"
#include "engine/model/model.h"
#include "engine/policy/policy.h"
#include "engine/session/session_options.h"
#include "kernels/base/text.h"

namespace palimpsest::engine {

struct SessionSetup {
    SessionOptions options; // with budget, KV type and rows of a super-chunk filled in; the policy as requested
    std::unique_ptr<Policy> policy;
};

// Fills in defaults and makes the policy. Throws Error (Usage) for options that do not fit the model or one
// another.
SessionSetup set_up(const SessionOptions& given, const ModelConfig& model, const kernels::AtOnce& at_once);
// Uses the caller's policy.
SessionSetup set_up(const SessionOptions& given, const ModelConfig& model, const kernels::AtOnce& at_once,
                    std::unique_ptr<Policy> policy);

// The element type of the cache. Throws Error (Usage) if the model's head size does not fit it.
kernels::DType kv_type_of(const SessionOptions& options, const ModelConfig& model, const kernels::AtOnce& at_once);

// Makes the policy that the options name. REQUIRES: defaults are filled in.
std::unique_ptr<Policy> policy_of(const SessionOptions& options, const ModelConfig& model);

// Checks that the model was trained on as many positions as the session needs: with contiguous positions, the
// longest list, a chunk and the question rows. Throws Error (Usage, BudgetDoesNotFit).
void check_positions(const Policy& policy, const SessionOptions& options, const ModelConfig& model,
                     int64_t question_rows);

// Why the lists of an unbounded policy grow until the context is full, and what would keep them shorter.
struct Unbounded {
    Text reason, remedy;
};
Unbounded why_unbounded(const Policy& policy, const SessionOptions& options);

// [layers] whether the policy keeps pinned tokens in the lists of a layer.
std::vector<bool> layers_with_pins(const Policy& policy, int32_t layers);
// The cache for the policy's limits and for chunks followed by `question_rows` question rows.
CacheShape cache_shape(const Model& model, const SessionOptions& options, const Policy& policy,
                       int32_t question_rows);
// Raises the limits of a shape to these list lengths, [layers * kv_heads].
CacheShape with_room_for(CacheShape shape, std::span<const int32_t> list_lengths);
TransformerShape transformer_shape(const ModelConfig& model, const CacheShape& cache, const SessionOptions& options,
                                   const Policy& policy, int32_t question_rows);
// Upper bound of the positions that a session uses.
int64_t position_reach(const ModelConfig& model, const SessionOptions& options, const Policy& policy);

// The largest operations of such a session. `weights` must outlive the result.
kernels::WorkBounds work_bounds(const Model& model, const CacheShape& cache, const TransformerShape& transformer,
                                std::span<const kernels::HostMatrix> weights);

} // namespace palimpsest::engine
