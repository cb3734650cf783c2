// Soft caps of logits ("Gemma 2", Gemma team 2024, section 2).
#pragma once

#include "kernels/cuda/device/device.h"

namespace palimpsest::kernels::cuda {

// Returns cap tanh(x / cap); x if cap is 0.
__device__ inline float softly_capped(float cap, float x)
{
    return cap > 0 ? cap * tanhf(x / cap) : x;
}

} // namespace palimpsest::kernels::cuda
