// The matrix products of backend.h in float64, one plain loop each: what the kernels are measured against.
//
// Arguments are those of the kernels; the weight must come from the CPU backend. Results are float64 and new.
#pragma once

#include <vector>

#include "kernels/backend.h"

namespace palimpsest::kernels::reference {

std::vector<double> widened_row(const Weight& weight, int64_t row);          // [cols]
std::vector<double> rms_norm(std::span<const float> x, const RmsNorm& norm); // x itself if there is no norm
std::vector<double> embed(const EmbedArgs& args);                            // [ids, dim]
std::vector<double> linear(const LinearArgs& args);              // [rows, W.rows], with the old y if it accumulates
std::vector<double> feed_forward(const FeedForwardArgs& args);   // [rows, dim], the new x
std::vector<double> prepare_heads(const PrepareHeadsArgs& args); // [rows, qkv_width], the new qkv
std::vector<double> experts(const ExpertsArgs& args);            // [rows, dim], the new x

} // namespace palimpsest::kernels::reference
