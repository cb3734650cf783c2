// Replaces CUDA's header of this name when the sources in kernels/cuda are compiled for the CPU.
#pragma once

#include "tests/support/simt/grid.h"
#include "tests/support/simt/intrinsics.h"
#include "tests/support/simt/runtime_api.h"
#include "tests/support/simt/vector_types.h"

#define __global__
#define __device__
#define __host__
#define __constant__ static
#define __shared__ static
#define __align__(bytes) __attribute__((aligned(bytes)))
#define __forceinline__ inline __attribute__((always_inline))
#define __launch_bounds__(...)
#ifndef __restrict__
#define __restrict__ __restrict
#endif
