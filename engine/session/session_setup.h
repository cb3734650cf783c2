// The parts that a session is built from: options that fit the model and one another, the policy they name, and the
// shapes of its cache and its forward pass.
#pragma once

#include <memory>
#include <span>
#include <string>

#include "engine/cache/kv_cache.h"
#include "engine/model/model.h"
#include "engine/model/transformer.h"
#include "engine/policy/policy.h"
#include "engine/session/session_options.h"

namespace palimpsest::engine {

struct SessionSetup {
    SessionOptions options; // budget, KV type and super-chunks filled in; the policy as it was asked for
    std::unique_ptr<Policy> policy;
};

// Throw Error (Usage) for options that do not fit the model or one another.
SessionSetup set_up(const SessionOptions& given, const ModelConfig& model, const kernels::AtOnce& at_once);
// With a policy of the caller's own.
SessionSetup set_up(const SessionOptions& given, const ModelConfig& model, const kernels::AtOnce& at_once,
                    std::unique_ptr<Policy> policy);

// The element type of the cache. Throws Error (Usage) where the model's heads do not fit it.
kernels::DType kv_type_of(const SessionOptions& options, const ModelConfig& model, const kernels::AtOnce& at_once);

// The policy that complete options name.
std::unique_ptr<Policy> policy_of(const SessionOptions& options, const ModelConfig& model);

// Contiguous positions never exceed the longest list, a chunk and a probe; the model must have been trained on
// them. Throws Error (Usage, PAL-BUDGET-01).
void check_positions(const Policy& policy, const SessionOptions& options, const ModelConfig& model,
                     int64_t probe_rows);

// Why lists of a policy that is not bounded grow until the context is full, and what would keep them shorter.
struct Unbounded {
    std::string reason, remedy;
};
Unbounded why_unbounded(const Policy& policy, const SessionOptions& options);

// [layers]: whether the policy keeps what is pinned in the lists of a layer.
std::vector<bool> layers_with_pins(const Policy& policy, int32_t layers);
// For lists of the policy's limits, and chunks that are followed by so many rows of a probe.
CacheShape cache_shape(const Model& model, const SessionOptions& options, const Policy& policy, int32_t probe_rows);
// Raises the limits of a shape to lists of these lengths, [layers * kv_heads].
CacheShape with_room_for(CacheShape shape, std::span<const int32_t> list_lengths);
TransformerShape transformer_shape(const ModelConfig& model, const CacheShape& cache, const SessionOptions& options,
                                   const Policy& policy, int32_t probe_rows);
// Positions that a session asks for stay below this.
int64_t position_reach(const ModelConfig& model, const SessionOptions& options, const Policy& policy);

// The largest operations of such a session. `weights` must outlive it.
kernels::WorkBounds work_bounds(const Model& model, const CacheShape& cache, const TransformerShape& transformer,
                                std::span<const kernels::HostMatrix> weights);

} // namespace palimpsest::engine
