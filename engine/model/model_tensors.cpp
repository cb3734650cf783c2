#include "engine/model/model_tensors.h"

#include <algorithm>
#include <array>

namespace palimpsest::engine {
namespace {

// Suffixes of layer tensors that other architectures have and that this one would silently leave out.
constexpr std::array<std::string_view, 12> changes_a_layer = {"attn_output.bias",
                                                              "ffn_gate.bias",
                                                              "ffn_up.bias",
                                                              "ffn_down.bias",
                                                              "attn_norm.bias",
                                                              "ffn_norm.bias",
                                                              "attn_q_norm.weight",
                                                              "attn_k_norm.weight",
                                                              "attn_qkv.weight",
                                                              "ffn_gate_inp.weight",
                                                              "post_attention_norm.weight",
                                                              "post_ffw_norm.weight"};

std::string shape_text(const std::vector<uint64_t>& shape)
{
    std::string text;
    for (const uint64_t dim : shape)
        text += (text.empty() ? "" : " x ") + std::to_string(dim);
    return text.empty() ? "a single number" : text;
}

void refuse_unknown_behaviour(const std::string& name, const FoundTensor& extra, const Refusal& refuse,
                              const char* rule)
{
    if (!name.starts_with("blk.")) return;
    for (const std::string_view suffix : changes_a_layer) {
        if (name.ends_with("." + std::string(suffix)))
            refuse.fail(rule,
                        "tensor " + in_quotes(extra.label) + " belongs to a kind of layer that is not supported",
                        Refusal::other_model);
    }
}

} // namespace

std::vector<RequiredTensor> required_tensors(const ModelConfig& c)
{
    const int64_t queries = int64_t{c.heads} * c.head_dim, keys = int64_t{c.kv_heads} * c.head_dim;
    std::vector<RequiredTensor> out = {{"token_embd.weight", c.vocabulary, c.dim},
                                       {"output_norm.weight", 1, c.dim, true}};
    if (!c.tied_embeddings) out.push_back({"output.weight", c.vocabulary, c.dim});
    for (int32_t layer = 0; layer < c.layers; ++layer) {
        const std::string block = "blk." + std::to_string(layer) + ".";
        out.push_back({block + "attn_norm.weight", 1, c.dim, true});
        out.push_back({block + "attn_q.weight", queries, c.dim});
        out.push_back({block + "attn_k.weight", keys, c.dim});
        out.push_back({block + "attn_v.weight", keys, c.dim});
        if (c.qkv_bias) {
            out.push_back({block + "attn_q.bias", 1, queries, true});
            out.push_back({block + "attn_k.bias", 1, keys, true});
            out.push_back({block + "attn_v.bias", 1, keys, true});
        }
        out.push_back({block + "attn_output.weight", c.dim, queries});
        out.push_back({block + "ffn_norm.weight", 1, c.dim, true});
        out.push_back({block + "ffn_gate.weight", c.ffn, c.dim});
        out.push_back({block + "ffn_up.weight", c.ffn, c.dim});
        out.push_back({block + "ffn_down.weight", c.dim, c.ffn});
    }
    return out;
}

int64_t parameter_count(const ModelConfig& config)
{
    int64_t sum = 0;
    for (const RequiredTensor& tensor : required_tensors(config))
        sum += tensor.rows * tensor.cols;
    return sum;
}

std::map<std::string, HostTensor> take_tensors(const ModelConfig& config, std::map<std::string, FoundTensor> found,
                                               const Refusal& refuse, const char* rule,
                                               std::vector<std::string>& warnings)
{
    std::map<std::string, HostTensor> taken;
    for (const RequiredTensor& required : required_tensors(config)) {
        const auto at = found.find(required.name);
        if (at == found.end())
            refuse.fail(rule, "tensor '" + required.name + "' is missing", "download the complete model");
        std::vector<uint64_t> shape = {static_cast<uint64_t>(required.cols)};
        if (!required.is_vector) shape.insert(shape.begin(), static_cast<uint64_t>(required.rows));
        if (at->second.shape != shape) {
            refuse.fail(rule, "tensor " + in_quotes(at->second.label) + " is " + shape_text(at->second.shape) +
                                  ", the configuration requires " + shape_text(shape));
        }
        HostTensor tensor = at->second.tensor;
        tensor.rows = required.rows;
        tensor.cols = required.cols;
        taken.emplace(required.name, tensor);
        found.erase(at);
    }
    for (const auto& [name, extra] : found) {
        refuse_unknown_behaviour(name, extra, refuse, rule);
        warnings.push_back("tensor " + in_quotes(extra.label) + " is not used");
    }
    return taken;
}

} // namespace palimpsest::engine
