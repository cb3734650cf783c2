// A list's part of a plan (kernels/eviction.h), where the plan lies.
#pragma once

#include "kernels/cuda/device.h"
#include "kernels/eviction.h"

namespace palimpsest::kernels::cuda {

__device__ inline ListPlan list_plan(const uint32_t* plan, int64_t head)
{
    return reinterpret_cast<const ListPlan*>(plan)[head];
}

} // namespace palimpsest::kernels::cuda
