#include "engine/model/families/family.h"

namespace palimpsest::engine {

// Mixtral 8x7B and 8x22B as safetensors files.
const Family& mixtral_family()
{
    static const Family family = {
        .architecture = "llama",
        .classes = {"MixtralForCausalLM"},
        .describe =
            [](const ConfigFields& fields, ModelConfig& config) {
                read_windows(fields, config, 0);
                read_experts(fields, config, {nullptr, "num_local_experts"}, {nullptr, "num_experts_per_tok"});
            },
        .defaults = {{"num_local_experts", 8}, {"num_experts_per_tok", 2}},
        .tensor_names = {{"block_sparse_moe.gate", "ffn_gate_inp"},
                         {"block_sparse_moe.experts.*.w1", "ffn_gate.*"},
                         {"block_sparse_moe.experts.*.w3", "ffn_up.*"},
                         {"block_sparse_moe.experts.*.w2", "ffn_down.*"}},
    };
    return family;
}

} // namespace palimpsest::engine
