// Matrix product of many rows (prefill) with quantised weights, on processors with AVX-512 VNNI. Activations are
// converted to 16-bit fixed point, with one scale per 32 of them; weights stay byte codes; sums of products within
// a group of weights are exact.
//
// The error of an activation is at most 1.54e-5 of the largest of its 32; groups whose largest magnitude is below
// 2^-100 count as 0. A product of random numbers has an error of about 2e-5 of its size. A very large activation
// costs its 31 neighbours precision: one that is 1,000 times as large, with weights of 0, causes an error of 1.5e-3
// in a product of 1,024 numbers. Sums are finite as long as activations stay below 1e34. The bits of a row depend
// neither on the other rows nor on the number of threads.
//
// Cost: 2 rows W.rows W.cols operations. For groups of 32 weights, 21 instructions do the work of 32 f32
// multiply-adds; for groups of 16 (Q2_K, Q3_K, Q6_K), 26 instructions.
#pragma once

#include "kernels/cpu/cpu_context.h"
#include "kernels/cpu/product.h"

namespace palimpsest::kernels::cpu {

// Whether this processor supports fixed_point_gemm for the product's weights, and `context` does not demand exact
// products.
bool takes_fixed_point_gemm(const Product& product, const CpuContext& context);

void fixed_point_gemm(const Product& product, CpuContext& context); // REQUIRES: takes_fixed_point_gemm

} // namespace palimpsest::kernels::cpu
