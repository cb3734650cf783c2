// Minimum cost of a token: bytes read per decoded token, operations per prefilled token (docs/performance.md).
#pragma once

#include "engine/model/model.h"

namespace palimpsest::bench {

// Weights, read once, and keys and values of `tokens` rows per list in 16 bits.
inline double decode_bytes(const engine::Model& model, int64_t tokens)
{
    const engine::ModelConfig& c = model.config();
    int64_t bytes = model.output().bytes();
    for (int32_t l = 0; l < c.layers; ++l) {
        const engine::LayerWeights& w = model.layer(l);
        bytes += w.qkv->bytes() + w.output->bytes() + w.gate_up->bytes() + w.down->bytes();
    }
    const int64_t row = kernels::row_bytes(kernels::DType::F16, c.head_dim);
    return static_cast<double>(bytes + int64_t{c.layers} * c.kv_heads * tokens * 2 * row);
}

// Two operations per weight of the layers, four per element of a query and visible rank. Excludes the output
// matrix, which is used for one row of a chunk. On average, a token sees `tokens` ranks and half of its chunk.
inline double prefill_operations(const engine::Model& model, int64_t tokens, int64_t chunk)
{
    const engine::ModelConfig& c = model.config();
    double weights = 0;
    for (int32_t l = 0; l < c.layers; ++l) {
        const engine::LayerWeights& w = model.layer(l);
        for (const auto* weight : {&w.qkv, &w.output, &w.gate_up, &w.down})
            weights += static_cast<double>((*weight)->rows()) * static_cast<double>((*weight)->cols());
    }
    const double ranks = static_cast<double>(tokens) + static_cast<double>(chunk) / 2;
    return 2 * weights + 4 * ranks * static_cast<double>(int64_t{c.heads} * c.head_dim * c.layers);
}

} // namespace palimpsest::bench
