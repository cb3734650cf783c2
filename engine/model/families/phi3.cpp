#include "engine/model/families/family.h"

namespace palimpsest::engine {

// Phi-3, Phi-3.5 and Phi-4 mini: fused matrices, LongRoPE, a sliding window.
const Family& phi3_family()
{
    static const Family family = {
        .architecture = "phi3",
        .classes = {"Phi3ForCausalLM"},
        .describe =
            [](const ConfigFields& fields, ModelConfig& config) {
                config.fused_qkv = true;
                config.fused_gate_up = true;
                read_windows(fields, config, 0);
            },
        .tensor_names = {{"self_attn.qkv_proj", "attn_qkv"}, {"mlp.gate_up_proj", "ffn_up"}},
        .kv_heads_optional = true,
        .partial_rotary = true,
    };
    return family;
}

} // namespace palimpsest::engine
