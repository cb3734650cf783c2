#include "engine/model/families/gemma.h"
#include "engine/model/limits.h"

namespace palimpsest::engine {

// Gemma 3, the text model: normalised queries and keys, five local layers with their own rotary angles to a global
// one.
const Family& gemma3_family()
{
    static const Family family = {
        .architecture = "gemma3",
        .classes = {"Gemma3ForCausalLM", "Gemma3ForConditionalGeneration"},
        .describe =
            [](const ConfigFields& fields, ModelConfig& config) {
                describe_gemma(fields, config);
                read_gemma_scale(fields, config, 62); // as for Gemma 2
                config.head_norm = HeadNorm::PerHead;
                constexpr ConfigKey cap = {"final_logit_softcapping", "final_logit_softcapping"};
                if (fields.number(cap)) config.logit_soft_cap = positive(fields, cap, 0);
                constexpr ConfigKey key = {"attention.sliding_window_pattern", "sliding_window_pattern"};
                const bool listed = fields.listed_windows(config.layers).has_value();
                const uint64_t period = listed ? 6 : fields.integer(key).value_or(6);
                if (period < 1 || period > limits::layers)
                    fields.refuse_value(fields.name(key) + " is " + std::to_string(period) + ", expected 1 to " +
                                        std::to_string(limits::layers));
                read_windows(fields, config, static_cast<int32_t>(period), true);
            },
        .activations = {"gelu_pytorch_tanh", "gelu"},
        .defaults = {{"head_dim", 256},
                     {"num_attention_heads", 8},
                     {"num_key_value_heads", 4},
                     {"vocab_size", 262208},
                     {"max_position_embeddings", 131072},
                     {"rms_norm_eps", 1e-6},
                     {"sliding_window", 4096},
                     {"query_pre_attn_scalar", 256}},
        .tensor_names = gemma_tensor_names(),
        .tied = true,
        .rope_base = 1e6f,
    };
    return family;
}

} // namespace palimpsest::engine
