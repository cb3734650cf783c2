// The matrix operations of backend.h in float64, as plain loops: the reference that the kernels are compared with.
//
// The arguments are those of the kernels; the weights must come from the CPU backend. Results are returned, and the
// arguments are left unchanged.
#pragma once

#include <vector>

#include "kernels/backend.h"

namespace palimpsest::kernels::reference {

std::vector<double> widened_row(const Weight& weight, int64_t row);          // [cols]
std::vector<double> rms_norm(std::span<const float> x, const RmsNorm& norm); // x itself if there is no norm
std::vector<double> embed(const EmbedArgs& args);                            // [ids, dim]
std::vector<double> linear(const LinearArgs& args);              // [rows, W.rows], plus the old y with `accumulate`
std::vector<double> feed_forward(const FeedForwardArgs& args);   // [rows, dim], the new x
std::vector<double> prepare_heads(const PrepareHeadsArgs& args); // [rows, qkv_width], the new qkv
std::vector<double> experts(const ExpertsArgs& args);            // [rows, dim], the new x

} // namespace palimpsest::kernels::reference
