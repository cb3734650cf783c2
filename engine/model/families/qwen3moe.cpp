#include "engine/model/config/limits.h"
#include "engine/model/families/qwen.h"

namespace palimpsest::engine {
namespace {

void refuse_dense_layers(const ConfigFields& fields, const ModelConfig& config)
{
    const char* key = nullptr;
    if (fields.integer({nullptr, "decoder_sparse_step"}).value_or(1) != 1) key = "decoder_sparse_step";
    for (const uint64_t layer : fields.integers({nullptr, "mlp_only_layers"}))
        if (layer < static_cast<uint64_t>(config.layers)) key = "mlp_only_layers";
    if (key)
        fields.refuse_unsupported(
            Text("a mixture of layers with and without experts ('{0}') is not supported", key));
}

} // namespace

// Qwen3 with experts in every layer.
const Family& qwen3moe_family()
{
    static const Family family = {
        .architecture = "qwen3moe",
        .classes = {"Qwen3MoeForCausalLM"},
        .describe =
            [](const ConfigFields& fields, ModelConfig& config) {
                config.head_norm = HeadNorm::PerHead;
                config.qkv_bias = fields.boolean({nullptr, "attention_bias"}).value_or(false);
                read_windows_of_qwen(fields, config);
                read_experts(fields, config, {"expert_count", "num_experts"},
                             {"expert_used_count", "num_experts_per_tok"});
                if (config.experts.count == 0)
                    fields.refuse_unsupported(Text("a mixture of no experts is not supported"));
                refuse_dense_layers(fields, config);
                config.experts.renormalise = fields.boolean({nullptr, "norm_topk_prob"}).value_or(fields.is_gguf());
                constexpr ConfigKey width = {"expert_feed_forward_length", "moe_intermediate_size"};
                const uint64_t ffn = fields.integer(width).value_or(0);
                if (ffn < 1 || ffn > limits::ffn)
                    fields.refuse_value(
                        Text("{0} is {1}, expected 1 to {2}", fields.name(width), ffn, limits::ffn));
                config.ffn = static_cast<int32_t>(ffn);
            },
        .defaults = {{"num_experts_per_tok", 8}},
        .tensor_names = {{"mlp.gate", "ffn_gate_inp"},
                         {"mlp.experts.*.gate_proj", "ffn_gate.*"},
                         {"mlp.experts.*.up_proj", "ffn_up.*"},
                         {"mlp.experts.*.down_proj", "ffn_down.*"}},
    };
    return family;
}

} // namespace palimpsest::engine
