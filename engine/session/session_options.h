// Options of a new session.
#pragma once

#include <cstdint>
#include <optional>

#include "engine/policy/policy.h"
#include "engine/session/sampler.h"
#include "kernels/base/dtype.h"

namespace palimpsest::engine {

// Defaults, in tokens; `palimpsest doctor` shows them.
inline constexpr int32_t default_budget = 2048;
inline constexpr int32_t default_chunk = 512;

struct SessionOptions {
    PolicySpec policy{"treekv", {}};
    // Tokens kept per layer and KV head, or no_budget. 0: default_budget, or as many as fit the context beside a
    // chunk; the whole context for a policy that keeps and reads everything.
    int32_t budget = 0;
    int32_t chunk = default_chunk; // tokens per prefill chunk
    Pins pins{};                   // tokens that no policy evicts; they count in the budget
    // The most question rows to expect (Session::set_question_ids); lists that borrow slots leave room for them.
    int32_t question_room = 0;
    PositionMode positions = PositionMode::Contiguous;
    // None: BF16 for BF16 models if the device is fast with it, else F16. With Q8_0, the staging buffer has the
    // type that None would choose.
    std::optional<kernels::DType> kv_type;
    // Rows of a super-chunk, at least one chunk; no effect on results. 0: the backend's preference.
    int32_t rows_at_once = 0;
    // Whether feed() can be stopped within a chunk, which needs a staging buffer per layer instead of one. None:
    // true if a chunk takes longer than a stop may wait; super-chunks are then limited to that time, too. If a
    // value is given, they are not limited. No effect on results.
    std::optional<bool> stops_within_chunk{};
    // Upper bound of positions, which selects the rotary angles (RopePlan::long_factors). None: follows from budget
    // and chunk. Set it to make a session compute as another one with a different budget.
    std::optional<int64_t> reach{};
    SamplerOptions sampler;
};

} // namespace palimpsest::engine
