// The hyper-parameters of a Llama-like transformer, as validated (reliability.md, G12 and C3-C6).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "kernels/base/dtype.h"

namespace palimpsest::engine {

struct ModelConfig {
    std::string architecture; // "llama", "qwen2"
    std::string name;
    int32_t layers = 0;
    int32_t dim = 0;
    int32_t heads = 0;    // query heads per layer
    int32_t kv_heads = 0; // divides heads
    int32_t head_dim = 0;
    int32_t ffn = 0;
    int32_t vocabulary = 0; // rows of the embedding
    int32_t context = 0;    // trained context, in tokens
    float rms_epsilon = 1e-5f;
    float rope_base = 10000.0f;
    int32_t rotary_dim = 0; // <= head_dim, even
    // Divisors of the inverse frequencies, [rotary_dim / 2], empty for none: linear scaling is one factor
    // throughout, llama3 scaling the factors of its formula (Llama 3.1 report), GGUF files carry them as
    // rope_freqs.weight.
    std::vector<float> rope_factors;
    bool tied_embeddings = false;
    bool qkv_bias = false;
    bool paired_rotary =
        false; // q and k rows lie as adjacent pairs (GGUF of Llama), see HostMatrix::paired_head_dim
    kernels::DType stored_type = kernels::DType::F32; // of the attention weights; decides the automatic KV type
};

} // namespace palimpsest::engine
