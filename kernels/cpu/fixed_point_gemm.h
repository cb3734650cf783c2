// Matrix product of many rows (prefill) with quantised weights, on processors with AVX-512 VNNI: activations are
// 16-bit fixed-point numbers with a scale for every 32 of them, codes of weights stay bytes, and the sums of their
// products within a group of weights are exact.
//
// An activation is off by at most 2^-16 of the largest of its 32, and what is computed with it is exact to the rounding
// of f32 sums over the groups: a product of random numbers is off by about 2^-15.5 of its size. Bits of a row depend
// neither on the other rows nor on the number of threads.
//
// Cost: 2 rows W.rows W.cols operations at about 1.5 times the f32 peak where groups have 32 weights, 1.2 times where
// they have 16 (Q2_K, Q3_K, Q6_K): 16 byte products replace 32 multiply-adds, and each group adds 5 operations.
#pragma once

#include "kernels/cpu/cpu_context.h"
#include "kernels/cpu/product.h"

namespace palimpsest::kernels::cpu {

// Whether this processor computes the product so, and `context` lets it.
bool takes_fixed_point_gemm(const Product& product, const CpuContext& context);

void fixed_point_gemm(const Product& product, CpuContext& context); // REQUIRES: takes_fixed_point_gemm

} // namespace palimpsest::kernels::cpu
