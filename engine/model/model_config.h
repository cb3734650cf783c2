// The hyper-parameters of a transformer, as validated. The forward pass is described by these values alone: a
// family of models is a set of them (engine/model/families).
#pragma once

#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "kernels/backend.h"
#include "kernels/base/dtype.h"

namespace palimpsest::engine {

// The rotary angles of some layers: inverse frequencies base^(-2i / rotary_dim) / factors[i].
struct RopePlan {
    float base = 10000.0f;
    // Divisors of the inverse frequencies, [rotary_dim / 2], empty for none: linear scaling is one factor
    // throughout, llama3 scaling the factors of its formula (Llama 3.1 report), YaRN those of Peng et al. 2023;
    // GGUF files carry some as rope_freqs.weight.
    std::vector<float> factors{};
    // Instead of `factors` where positions beyond ModelConfig::original_context can be reached (LongRoPE, Ding et
    // al. 2024); empty: `factors` hold everywhere.
    std::vector<float> long_factors{};
    // The reference implementations multiply cosines and sines by this; the logits of attention by its square.
    float attention_factor = 1.0f;
    bool operator==(const RopePlan&) const = default;
};

// How the attention of one layer differs from that of others.
struct LayerPlan {
    int32_t window = 0;      // > 0: a token sees the newest so many tokens, itself included
    bool local_rope = false; // ModelConfig::local_rope instead of rope
    bool operator==(const LayerPlan&) const = default;
};

enum class HeadNorm : uint8_t { None, PerHead, AcrossHeads };

struct ExpertPlan {
    int32_t count = 0; // 0: no experts
    int32_t used = 0;  // of every token
    bool renormalise = true;
};

struct ModelConfig {
    std::string architecture; // as GGUF files call it: "llama", "gemma3"
    std::string name;
    int32_t layers = 0;
    int32_t dim = 0;
    int32_t heads = 0;    // query heads per layer
    int32_t kv_heads = 0; // divides heads
    int32_t head_dim = 0;
    int32_t ffn = 0;        // of an expert, if there are any
    int32_t vocabulary = 0; // rows of the embedding
    int32_t context = 0;    // trained context, in tokens
    float rms_epsilon = 1e-5f;
    int32_t rotary_dim = 0; // <= head_dim, even
    RopePlan rope{};
    RopePlan local_rope{};          // of layers that ask for it
    int32_t original_context = 0;   // before positions were stretched; 0: they were not
    std::vector<LayerPlan> plans{}; // [layers], or empty: nothing special in any

    bool tied_embeddings = false;
    bool qkv_bias = false;
    bool fused_qkv = false;     // one matrix attn_qkv for queries, keys and values
    bool fused_gate_up = false; // one matrix ffn_up for gate and up
    // q and k rows lie as adjacent pairs (GGUF of Llama), see HostMatrix::paired_head_dim
    bool paired_rotary = false;
    float norm_offset = 0.0f; // added to every stored norm weight: 1 where files store w for 1 + w

    bool pre_norms = true;   // of what attention and the feed-forward layer take
    bool post_norms = false; // of what they give
    HeadNorm head_norm = HeadNorm::None;
    kernels::Activation activation = kernels::Activation::Silu;
    float embedding_factor = 1.0f;
    float residual_factor = 1.0f;    // of what attention and the feed-forward layer give
    float attention_scale = 0.0f;    // of the logits of attention; 0: 1 / sqrt(head_dim)
    float attention_soft_cap = 0.0f; // 0: none
    float logit_factor = 1.0f;
    float logit_soft_cap = 0.0f; // 0: none
    ExpertPlan experts{};

    kernels::DType stored_type = kernels::DType::F32; // of the attention weights; decides the automatic KV type

    LayerPlan plan(int32_t layer) const { return plans.empty() ? LayerPlan{} : plans[static_cast<size_t>(layer)]; }
    const RopePlan& rope_of(int32_t layer) const { return plan(layer).local_rope ? local_rope : rope; }
    bool has_windows() const
    {
        for (const LayerPlan& layer : plans)
            if (layer.window > 0) return true;
        return false;
    }
    float scale() const
    {
        return attention_scale > 0 ? attention_scale : 1.0f / std::sqrt(static_cast<float>(head_dim));
    }
};

} // namespace palimpsest::engine
