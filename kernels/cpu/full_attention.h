// Attention of every token of a text to all of its tokens (Vaswani et al. 2017, eq. 1), as encoders compute it.
#pragma once

#include <cstddef>
#include <cstdint>

namespace palimpsest::kernels::cpu {

struct FullAttention {
    const float* qkv = nullptr; // [tokens, 3 * heads * head_dim]: queries, keys and values of all heads
    int64_t tokens = 0;
    int64_t heads = 0;
    int64_t head_dim = 0;
    float* out = nullptr; // [tokens, heads * head_dim]
};

// Floats of scratch memory that attend_fully needs for this text, on the SIMD target in use.
size_t full_attention_floats(const FullAttention& args);

// Computes one head of the output; logits are divided by sqrt(head_dim). Heads may be computed in parallel, each
// with scratch memory of its own, aligned to 64 bytes.
//
// Cost: 4 tokens^2 head_dim operations and tokens^2 exponentials.
void attend_fully(const FullAttention& args, int64_t head, float* scratch);

} // namespace palimpsest::kernels::cpu
