#include "engine/model/families/gemma.h"

namespace palimpsest::engine {

// Gemma 2: norms before and after attention and feed-forward, GeGLU, soft caps, every other layer local.
const Family& gemma2_family()
{
    static const Family family = {
        .architecture = "gemma2",
        .classes = {"Gemma2ForCausalLM"},
        .describe =
            [](const ConfigFields& fields, ModelConfig& config) {
                describe_gemma(fields, config);
                // The 27B model (46 layers) scales by dim / heads, which GGUF files do not state.
                read_gemma_scale(fields, config, 46);
                config.attention_soft_cap =
                    read_soft_cap(fields, {"attn_logit_softcapping", "attn_logit_softcapping"}, 50);
                config.logit_soft_cap =
                    read_soft_cap(fields, {"final_logit_softcapping", "final_logit_softcapping"}, 30);
                read_windows(fields, config, 2, false, 4096);
            },
        .activations = {"gelu_pytorch_tanh", "gelu"},
        .defaults = {{"head_dim", 256},
                     {"sliding_window", 4096},
                     {"query_pre_attn_scalar", 256},
                     {"attn_logit_softcapping", 50},
                     {"final_logit_softcapping", 30}},
        .tensor_names = gemma_tensor_names(),
        .tied = true,
    };
    return family;
}

} // namespace palimpsest::engine
