#include "engine/model/families/family.h"

namespace palimpsest::engine {

// OLMo 2: norms only after attention and feed-forward, and one norm across all query heads and one across all key
// heads.
const Family& olmo2_family()
{
    static const Family family = {
        .architecture = "olmo2",
        .classes = {"Olmo2ForCausalLM"},
        .describe =
            [](const ConfigFields& fields, ModelConfig& config) {
                config.pre_norms = false;
                config.post_norms = true;
                config.head_norm = HeadNorm::AcrossHeads;
                if (fields.boolean({nullptr, "attention_bias"}).value_or(false))
                    fields.refuse_unsupported(Text("{0} is not supported", "'attention_bias'"));
                if (fields.integer({"attention.sliding_window", nullptr}))
                    fields.refuse_unsupported(
                        Text("OLMo 3, an olmo2 with sliding-window attention, is not supported"));
            },
        .tensor_names = {{"post_attention_layernorm", "post_attention_norm"},
                         {"post_feedforward_layernorm", "post_ffw_norm"}},
        .kv_heads_optional = true,
    };
    return family;
}

} // namespace palimpsest::engine
