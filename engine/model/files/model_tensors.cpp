#include "engine/model/files/model_tensors.h"

#include <algorithm>
#include <array>

namespace palimpsest::engine {
namespace {

// Suffixes of tensors that change what a layer computes. A model with such a tensor is refused if its configuration
// does not require the tensor.
constexpr std::array<std::string_view, 17> changes_a_layer = {"attn_output.bias",
                                                              "ffn_gate.bias",
                                                              "ffn_up.bias",
                                                              "ffn_down.bias",
                                                              "attn_norm.bias",
                                                              "ffn_norm.bias",
                                                              "attn_q_norm.weight",
                                                              "attn_k_norm.weight",
                                                              "attn_qkv.weight",
                                                              "attn_qkv.bias",
                                                              "attn_sinks.weight",
                                                              "ffn_gate_inp.weight",
                                                              "ffn_gate_inp_shexp.weight",
                                                              "ffn_gate_shexp.weight",
                                                              "layer_output_scale.weight",
                                                              "post_attention_norm.weight",
                                                              "post_ffw_norm.weight"};

// Each expert has its own matrices, named by its number.
void require_feed_forward(const ModelConfig& c, const std::string& block, std::vector<RequiredTensor>& out)
{
    if (c.experts.count > 0) out.push_back({block + "ffn_gate_inp.weight", c.experts.count, c.dim});
    for (int32_t expert = 0; expert < std::max(c.experts.count, 1); ++expert) {
        const std::string end = (c.experts.count > 0 ? "." + std::to_string(expert) : "") + ".weight";
        const auto named = [&](const char* matrix) { return std::string(block).append(matrix).append(end); };
        if (!c.fused_gate_up) out.push_back({named("ffn_gate"), c.ffn, c.dim});
        out.push_back({named("ffn_up"), c.fused_gate_up ? 2 * int64_t{c.ffn} : c.ffn, c.dim});
        out.push_back({named("ffn_down"), c.dim, c.ffn});
    }
}

void refuse_unknown_behaviour(const std::string& name, const FoundTensor& extra, const Refusal& refuse,
                              ErrorCode rule)
{
    if (!name.starts_with("blk.")) return;
    for (const std::string_view suffix : changes_a_layer) {
        if (name.ends_with("." + std::string(suffix)))
            refuse.fail(rule,
                        Text("tensor {0} belongs to a kind of layer that is not supported", in_quotes(extra.label)),
                        Refusal::other_model());
    }
}

} // namespace

Text shape_text(const std::vector<uint64_t>& shape)
{
    std::string text;
    for (const uint64_t dim : shape)
        text += (text.empty() ? "" : " x ") + std::to_string(dim);
    return text.empty() ? Text("a single number") : Text::verbatim(text);
}

std::vector<RequiredTensor> required_tensors(const ModelConfig& c)
{
    const int64_t queries = int64_t{c.heads} * c.head_dim, keys = int64_t{c.kv_heads} * c.head_dim;
    const bool across = c.head_norm == HeadNorm::AcrossHeads;
    std::vector<RequiredTensor> out = {{"token_embd.weight", c.vocabulary, c.dim},
                                       {"output_norm.weight", 1, c.dim, true}};
    if (!c.tied_embeddings) out.push_back({"output.weight", c.vocabulary, c.dim});
    for (int32_t layer = 0; layer < c.layers; ++layer) {
        const std::string block = "blk." + std::to_string(layer) + ".";
        if (c.pre_norms) out.push_back({block + "attn_norm.weight", 1, c.dim, true});
        if (c.fused_qkv) {
            out.push_back({block + "attn_qkv.weight", queries + 2 * keys, c.dim});
        } else {
            out.push_back({block + "attn_q.weight", queries, c.dim});
            out.push_back({block + "attn_k.weight", keys, c.dim});
            out.push_back({block + "attn_v.weight", keys, c.dim});
        }
        if (c.qkv_bias) {
            out.push_back({block + "attn_q.bias", 1, queries, true});
            out.push_back({block + "attn_k.bias", 1, keys, true});
            out.push_back({block + "attn_v.bias", 1, keys, true});
        }
        if (c.head_norm != HeadNorm::None) {
            out.push_back({block + "attn_q_norm.weight", 1, across ? queries : c.head_dim, true});
            out.push_back({block + "attn_k_norm.weight", 1, across ? keys : c.head_dim, true});
        }
        out.push_back({block + "attn_output.weight", c.dim, queries});
        if (c.post_norms) out.push_back({block + "post_attention_norm.weight", 1, c.dim, true});
        if (c.pre_norms) out.push_back({block + "ffn_norm.weight", 1, c.dim, true});
        require_feed_forward(c, block, out);
        if (c.post_norms) out.push_back({block + "post_ffw_norm.weight", 1, c.dim, true});
    }
    return out;
}

int64_t parameter_count(const ModelConfig& config)
{
    double sum = 0; // claimed sizes may exceed 64 bits
    for (const RequiredTensor& tensor : required_tensors(config))
        sum += static_cast<double>(tensor.rows) * static_cast<double>(tensor.cols);
    return static_cast<int64_t>(std::min(sum, 9e18));
}

Text unused_image_tensors(size_t count)
{
    return count == 1 ? Text("1 tensor for images is not used: the model reads text")
                      : Text("{0} tensors for images are not used: the model reads text", count);
}

std::map<std::string, HostTensor> take_tensors(const ModelConfig& config, std::map<std::string, FoundTensor> found,
                                               const Refusal& refuse, ErrorCode rule, std::vector<Text>& warnings)
{
    std::map<std::string, HostTensor> taken;
    for (const RequiredTensor& required : required_tensors(config)) {
        const auto at = found.find(required.name);
        if (at == found.end())
            refuse.fail(rule, Text("tensor {0} is missing", in_quotes(required.name)),
                        Text("download the complete model"));
        std::vector<uint64_t> shape = {static_cast<uint64_t>(required.cols)};
        if (!required.is_vector) shape.insert(shape.begin(), static_cast<uint64_t>(required.rows));
        if (at->second.shape != shape) {
            refuse.fail(rule, Text("tensor {0} is {1}, the configuration requires {2}", in_quotes(at->second.label),
                                   shape_text(at->second.shape), shape_text(shape)));
        }
        HostTensor tensor = at->second.tensor;
        tensor.rows = required.rows;
        tensor.cols = required.cols;
        taken.emplace(required.name, tensor);
        found.erase(at);
    }
    for (const auto& [name, extra] : found) {
        refuse_unknown_behaviour(name, extra, refuse, rule);
        warnings.push_back(Text("tensor {0} is not used", in_quotes(extra.label)));
    }
    return taken;
}

} // namespace palimpsest::engine
