// A list's part of an eviction plan (kernels/eviction.h), read on the device.
#pragma once

#include "kernels/cuda/device/device.h"
#include "kernels/eviction.h"

namespace palimpsest::kernels::cuda {

__device__ inline ListPlan list_plan(const uint32_t* plan, int64_t head)
{
    return reinterpret_cast<const ListPlan*>(plan)[head];
}

} // namespace palimpsest::kernels::cuda
