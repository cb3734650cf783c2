// Upper bounds of the scratch that the largest operations of a session need. Most sizes come from functions that
// the kernels use, too; scratch_bound.cu repeats some formulas and says where from.
#pragma once

#include <array>

#include "kernels/backend.h"
#include "kernels/cuda/device/cuda_context.h"

namespace palimpsest::kernels::cuda {

using ScratchSizes = std::array<size_t, static_cast<size_t>(ScratchUse::Count)>; // bytes

ScratchSizes scratch_bound(const WorkBounds& work, const CudaContext& context);
uint64_t sum_of(const ScratchSizes& sizes);

} // namespace palimpsest::kernels::cuda
