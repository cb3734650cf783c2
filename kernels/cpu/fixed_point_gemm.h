// Matrix product of many rows (prefill) with quantised weights, on processors with AVX-512 VNNI: activations are
// 16-bit fixed-point numbers with a scale for every 32 of them, codes of weights stay bytes, and the sums of their
// products within a group of weights are exact.
//
// An activation is off by at most 1.54e-5 of the largest of its 32, and groups below 2^-100 count as 0. A product of
// random numbers is off by about 2e-5 of its size. An activation that outweighs its 31 neighbours takes bits from
// them: one that is 1,000 times as large, and has weights of 0, leaves a product of 1,024 numbers off by 1.5e-3. Sums
// are finite as long as activations stay below 1e34. Bits of a row depend neither on the other rows nor on the number
// of threads.
//
// Cost: 2 rows W.rows W.cols operations; 21 instructions replace 32 multiply-adds of f32 where groups have 32 weights,
// 26 where they have 16 (Q2_K, Q3_K, Q6_K).
#pragma once

#include "kernels/cpu/cpu_context.h"
#include "kernels/cpu/product.h"

namespace palimpsest::kernels::cpu {

// Whether this processor computes the product so, and `context` lets it.
bool takes_fixed_point_gemm(const Product& product, const CpuContext& context);

void fixed_point_gemm(const Product& product, CpuContext& context); // REQUIRES: takes_fixed_point_gemm

} // namespace palimpsest::kernels::cpu
