// What a session is started with.
#pragma once

#include <cstdint>
#include <optional>

#include "engine/policy/policy.h"
#include "engine/session/sampler.h"
#include "kernels/base/dtype.h"

namespace palimpsest::engine {

struct SessionOptions {
    PolicySpec policy{"treekv", {}};
    int32_t budget =
        0; // tokens kept per (layer, KV head); 0: min(2048, context - chunk), or the context if unbounded
    int32_t chunk = 512;    // tokens per prefill chunk
    Pins pins{};            // tokens that no policy evicts; they count in the budget
    int32_t probe_room = 0; // tokens of the longest probe to come, kept free by lists that others lend slots to
    PositionMode positions = PositionMode::Contiguous;
    std::optional<kernels::DType> kv_type; // none: bf16 for models stored in bf16, else f16
    int32_t rows_at_once = 512;            // of a super-chunk, at least one chunk; no effect on results
    // Whether feeding can be stopped within a chunk, which takes room for a chunk in every layer instead of in one.
    // None: if a chunk takes more than about half a second on two cores. No effect on results.
    std::optional<bool> stops_within_chunk{};
    SamplerOptions sampler;
};

} // namespace palimpsest::engine
