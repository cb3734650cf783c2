// The validated hyper-parameters of a transformer. These values alone describe the forward pass, whatever the model
// family (engine/model/families).
#pragma once

#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "kernels/backend.h"
#include "kernels/base/dtype.h"

namespace palimpsest::engine {

// The rotary angles of a group of layers: inverse frequencies base^(-2i / rotary_dim) / factors[i].
struct RopePlan {
    float base = 10000.0f;
    // Divisors of the inverse frequencies, [rotary_dim / 2], or empty. Linear scaling uses one factor for all,
    // llama3 scaling the formula of the Llama 3.1 report, YaRN that of Peng et al. 2023; GGUF files may store the
    // divisors as rope_freqs.weight.
    std::vector<float> factors{};
    // Replaces `factors` if positions can exceed ModelConfig::original_context (LongRoPE, Ding et al. 2024); empty:
    // `factors` always apply.
    std::vector<float> long_factors{};
    // The transformers library multiplies cosines and sines by this. Here its square multiplies the rotated
    // dimensions of every query (kernels::PrepareHeadsArgs), which gives the same attention logits.
    float attention_factor = 1.0f;
    bool operator==(const RopePlan&) const = default;
};

// Per-layer differences in attention.
struct LayerPlan {
    int32_t window = 0;      // > 0: sliding window: a token attends to the newest `window` tokens, itself included
    bool local_rope = false; // uses ModelConfig::local_rope instead of rope
    bool operator==(const LayerPlan&) const = default;
};

enum class HeadNorm : uint8_t { None, PerHead, AcrossHeads };

struct ExpertPlan {
    int32_t count = 0; // 0: no experts
    int32_t used = 0;  // experts computed per token
    bool renormalise = true;
};

struct ModelConfig {
    std::string architecture; // as in GGUF files: "llama", "gemma3"
    std::string name;
    int32_t layers = 0;
    int32_t dim = 0;
    int32_t heads = 0;    // query heads per layer
    int32_t kv_heads = 0; // divides heads
    int32_t head_dim = 0;
    int32_t ffn = 0;        // per expert, if there are experts
    int32_t vocabulary = 0; // rows of the embedding
    int32_t context = 0;    // trained context, in tokens
    float rms_epsilon = 1e-5f;
    int32_t rotary_dim = 0; // <= head_dim, even
    RopePlan rope{};
    RopePlan local_rope{};          // for layers with LayerPlan::local_rope
    int32_t original_context = 0;   // `context` before it was extended; 0: it was not extended
    std::vector<LayerPlan> plans{}; // [layers], or empty: defaults for all

    bool tied_embeddings = false;
    bool qkv_bias = false;
    bool fused_qkv = false;     // queries, keys and values in one matrix, attn_qkv
    bool fused_gate_up = false; // gate and up in one matrix, ffn_up
    // The rows of q and k are stored as adjacent pairs, as in GGUF files of Llama (HostMatrix::paired_head_dim).
    bool paired_rotary = false;
    float norm_offset = 0.0f; // added to every stored norm weight: 1 where files store w - 1

    bool pre_norms = true;   // on the inputs of attention and feed-forward
    bool post_norms = false; // on their outputs
    HeadNorm head_norm = HeadNorm::None;
    kernels::Activation activation = kernels::Activation::Silu;
    float embedding_factor = 1.0f;
    float residual_factor = 1.0f;    // of the outputs of attention and feed-forward
    float attention_scale = 0.0f;    // of the attention logits; 0: 1 / sqrt(head_dim)
    float attention_soft_cap = 0.0f; // 0: none
    float logit_factor = 1.0f;
    float logit_soft_cap = 0.0f; // 0: none
    ExpertPlan experts{};

    kernels::DType stored_type = kernels::DType::F32; // of the attention weights; determines the automatic KV type

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
