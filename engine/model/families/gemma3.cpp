#include "engine/model/config/limits.h"
#include "engine/model/config/rope_factors.h"
#include "engine/model/families/gemma.h"

namespace palimpsest::engine {
namespace {

constexpr int32_t layers_of_1b = 26, layers_of_4b = 34, layers_of_12b = 48, layers_of_27b = 62;
constexpr ConfigKey logit_cap = {"final_logit_softcapping", "final_logit_softcapping"};

// Ollama's first conversions of the 1B model, recognised by their key for the rope base, state a cap of 30 that the
// model does not have.
bool has_mistaken_cap(const ConfigFields& fields, const ModelConfig& config)
{
    return config.layers == layers_of_1b && fields.number({"rope.global.freq_base", nullptr}) &&
           fields.number(logit_cap) == 30.0;
}

// The context of the three largest models was extended by a factor of 8. Ollama's conversions omit this factor, and
// the rope base with it.
void read_context_extension(const ConfigFields& fields, ModelConfig& config)
{
    const bool is_stretched =
        config.layers == layers_of_4b || config.layers == layers_of_12b || config.layers == layers_of_27b;
    for (const char* key : {"rope.freq_base", "rope.global.freq_base", "rope.scaling.factor"})
        if (!is_stretched || fields.number({key, nullptr})) return;
    if (config.rope.factors.empty()) config.rope.factors = linear_rope_factors(config.rotary_dim, 8.0);
}

} // namespace

// Gemma 3, the text model: normalised queries and keys, and five local layers with their own rotary angles per
// global one.
const Family& gemma3_family()
{
    static const Family family = {
        .architecture = "gemma3",
        .classes = {"Gemma3ForCausalLM", "Gemma3ForConditionalGeneration"},
        .describe =
            [](const ConfigFields& fields, ModelConfig& config) {
                describe_gemma(fields, config);
                read_gemma_scale(fields, config, layers_of_27b); // the 27B model is an exception, as in Gemma 2
                config.head_norm = HeadNorm::PerHead;
                if (!has_mistaken_cap(fields, config)) config.logit_soft_cap = read_soft_cap(fields, logit_cap, 0);
                if (fields.is_gguf()) read_context_extension(fields, config);
                constexpr ConfigKey key = {"attention.sliding_window_pattern", "sliding_window_pattern"};
                const bool listed = fields.listed_windows(config.layers).has_value();
                const uint64_t period = listed ? 6 : fields.integer(key).value_or(6);
                if (period < 1 || period > limits::layers)
                    fields.refuse_value(
                        Text("{0} is {1}, expected 1 to {2}", fields.name(key), period, limits::layers));
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
