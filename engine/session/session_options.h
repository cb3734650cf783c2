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
    // Tokens kept per (layer, KV head), or no_budget. 0: 2048, or as many as fit the context beside a chunk; the
    // context for a policy that keeps and reads everything.
    int32_t budget = 0;
    int32_t chunk = 512; // tokens per prefill chunk
    Pins pins{};         // tokens that no policy evicts; they count in the budget
    // Tokens of the longest probe to come (Session::set_probe), kept free by lists that others lend slots to.
    int32_t probe_room = 0;
    PositionMode positions = PositionMode::Contiguous;
    // None: bf16 for models stored in bf16 (if the device is fast with it), else f16. Q8_0 stages chunks in that.
    std::optional<kernels::DType> kv_type;
    // Of a super-chunk, at least one chunk; no effect on results. 0: as many as the backend takes.
    int32_t rows_at_once = 0;
    // Whether feeding can be stopped within a chunk, which takes room for a chunk in every layer instead of in one.
    // None: if a chunk takes longer than a stop may wait, and rows_at_once is cut to as much; if this is given, it
    // is not. No effect on results.
    std::optional<bool> stops_within_chunk{};
    // Positions stay below this, for the choice of rotary angles (RopePlan::long_factors). None: as budget and
    // chunk say. Given where a session must compute as another one with a different budget does.
    std::optional<int64_t> reach{};
    SamplerOptions sampler;
};

} // namespace palimpsest::engine
