#include "engine/model/model.h"

#include <algorithm>

#include "engine/model/files/open_model.h"
#include "kernels/base/convert.h"
#include "kernels/base/error.h"

namespace palimpsest::engine {
namespace {

// open_model has checked that every required tensor exists; a missing one is a bug in this program.
const HostTensor& required(const ModelFiles& files, const std::string& name)
{
    const HostTensor* tensor = files.find(name);
    if (tensor) return *tensor;
    throw Error(ErrorKind::Internal, ErrorCode::Internal, Text::verbatim(files.path.string()),
                Text("tensor '{0}' was not validated", name), Text("report this as a bug"));
}

kernels::HostMatrix matrix(const HostTensor& tensor, int32_t paired_head_dim = 0)
{
    return {tensor.type, tensor.data, tensor.rows, tensor.cols, paired_head_dim};
}

std::vector<float> floats(const HostTensor& tensor)
{
    std::vector<float> values(static_cast<size_t>(tensor.rows * tensor.cols));
    kernels::to_f32(tensor.type, tensor.data, values.data(), static_cast<int64_t>(values.size()));
    return values;
}

kernels::Buffer upload(kernels::Backend& backend, const std::vector<float>& values)
{
    kernels::Buffer buffer(backend, values.size() * sizeof(float));
    backend.upload(buffer.data(), values.data(), buffer.bytes());
    return buffer;
}

// Reorders a bias, whose rows are ordered like those of its weight, from adjacent RoPE pairs to the half-split
// layout.
std::vector<float> unpaired(std::vector<float> bias, int32_t head_dim)
{
    std::vector<float> out(bias.size());
    const auto d = static_cast<size_t>(head_dim);
    for (size_t i = 0; i < bias.size(); ++i) {
        const size_t head = i / d, j = i % d;
        out[i] = bias[head * d + (j < d / 2 ? 2 * j : 2 * (j - d / 2) + 1)];
    }
    return out;
}

} // namespace

// Tracks the share of the weights that is loaded, and checks for a stop.
class Model::Loading {
public:
    struct Stopped {};

    Loading(const ModelFiles& files, const LoadOptions& options) : options_(options)
    {
        for (const auto& [name, tensor] : files.tensors)
            if (tensor.rows > 1) total_ += static_cast<double>(tensor.bytes);
    }
    void take(size_t bytes)
    {
        taken_ += static_cast<double>(bytes);
        if (options_.progress) options_.progress(std::min(1.0, taken_ / total_));
        check();
    }
    // Some tensors in the files are not loaded, so progress may not have reached 1 before.
    void finish() const
    {
        if (options_.progress && taken_ < total_) options_.progress(1);
    }
    void check() const
    {
        if (options_.stop.stop_requested()) throw Stopped{};
    }

private:
    const LoadOptions& options_;
    double total_ = 0, taken_ = 0; // bytes of matrices
};

std::shared_ptr<const Model> Model::load(const std::filesystem::path& path,
                                         std::shared_ptr<kernels::Backend> backend, const LoadOptions& options)
try {
    if (options.stop.stop_requested()) return nullptr;
    ModelFiles files = open_model(path);
    std::unique_ptr<Tokenizer> tokenizer;
    if (files.vocabulary.kind != Vocabulary::Kind::None) tokenizer = std::make_unique<Tokenizer>(files.vocabulary);
    return std::shared_ptr<const Model>(
        new Model(std::move(files), std::move(tokenizer), std::move(backend), options));
} catch (const Loading::Stopped&) {
    return nullptr;
}

std::shared_ptr<const Model> Model::load_weights(const std::filesystem::path& path,
                                                 std::shared_ptr<kernels::Backend> backend)
{
    return std::shared_ptr<const Model>(new Model(open_model(path), nullptr, std::move(backend), {}));
}

std::shared_ptr<const Model> Model::with_weights_of(const Model& model, std::shared_ptr<kernels::Backend> backend)
{
    ModelFiles files;
    files.path = model.files_.path;
    files.config = model.files_.config;
    files.tensors = model.files_.tensors;
    files.mappings = model.files_.mappings;
    return std::shared_ptr<const Model>(new Model(std::move(files), nullptr, std::move(backend), {}));
}

Model::Model(ModelFiles files, std::unique_ptr<Tokenizer> tokenizer, std::shared_ptr<kernels::Backend> backend,
             const LoadOptions& options)
    : files_(std::move(files)), backend_(std::move(backend)), tokenizer_(std::move(tokenizer))
{
    const ModelConfig& c = files_.config;
    if (c.experts.count > 0 && !backend_->has_experts())
        throw Error(ErrorKind::Usage, ErrorCode::ModelNeedsOtherDevice, Text::verbatim(files_.path.string()),
                    Text("mixtures of experts cannot be computed by {0}", backend_->name()),
                    Text("set {0} to {1}", Setting::Device, "cpu"));
    Loading loading(files_, options);
    embedding_ = load_matrix(loading, {"token_embd"});
    if (!c.tied_embeddings) output_ = load_matrix(loading, {"output"});
    output_norm_ = load_norm("output_norm.weight");
    layers_.resize(static_cast<size_t>(c.layers));
    for (int32_t l = 0; l < c.layers; ++l)
        load_layer(loading, l);
    loading.finish();
}

// Loads the rows of several tensors as one weight. `paired_head_dim` (kernels::HostMatrix) applies to queries and
// keys only: rows of values are never stored as pairs.
std::unique_ptr<kernels::Weight> Model::load_matrix(Loading& loading, std::initializer_list<const char*> names,
                                                    const std::string& block, int32_t paired_head_dim)
{
    loading.check();
    std::vector<kernels::HostMatrix> parts;
    for (const char* name : names) {
        const int32_t paired = std::string_view(name) == "attn_v" ? 0 : paired_head_dim;
        parts.push_back(matrix(required(files_, block + name + ".weight"), paired));
    }
    matrices_.insert(matrices_.end(), parts.begin(), parts.end());
    auto weight = backend_->load(parts);
    for (const kernels::HostMatrix& part : parts)
        loading.take(static_cast<size_t>(part.rows * kernels::row_bytes(part.type, part.cols)));
    return weight;
}

kernels::Buffer Model::load_norm(const std::string& name)
{
    std::vector<float> values = floats(required(files_, name));
    for (float& value : values)
        value += files_.config.norm_offset;
    return upload(*backend_, values);
}

kernels::Buffer Model::load_bias(const std::string& block, int32_t paired_head_dim)
{
    std::vector<float> bias;
    for (const char* name : {"attn_q.bias", "attn_k.bias", "attn_v.bias"}) {
        auto part = floats(required(files_, block + name));
        if (paired_head_dim && name[5] != 'v') part = unpaired(std::move(part), paired_head_dim);
        bias.insert(bias.end(), part.begin(), part.end());
    }
    return upload(*backend_, bias);
}

void Model::load_layer(Loading& loading, int32_t layer)
{
    const ModelConfig& c = files_.config;
    const int32_t paired = c.paired_rotary ? c.head_dim : 0;
    const std::string block = "blk." + std::to_string(layer) + ".";
    LayerWeights& w = layers_[static_cast<size_t>(layer)];
    if (c.pre_norms) w.attention_norm = load_norm(block + "attn_norm.weight");
    w.qkv = c.fused_qkv ? load_matrix(loading, {"attn_qkv"}, block)
                        : load_matrix(loading, {"attn_q", "attn_k", "attn_v"}, block, paired);
    if (c.qkv_bias) w.qkv_bias = load_bias(block, paired);
    if (c.head_norm != HeadNorm::None) {
        w.query_norm = load_norm(block + "attn_q_norm.weight");
        w.key_norm = load_norm(block + "attn_k_norm.weight");
    }
    w.output = load_matrix(loading, {"attn_output"}, block);
    if (c.post_norms) w.post_attention_norm = load_norm(block + "post_attention_norm.weight");
    if (c.pre_norms) w.ffn_norm = load_norm(block + "ffn_norm.weight");
    load_feed_forward(loading, block, w);
    if (c.post_norms) w.post_ffn_norm = load_norm(block + "post_ffw_norm.weight");
}

void Model::load_feed_forward(Loading& loading, const std::string& block, LayerWeights& w)
{
    const ModelConfig& c = files_.config;
    if (c.experts.count == 0) {
        w.gate_up = c.fused_gate_up ? load_matrix(loading, {"ffn_up"}, block)
                                    : load_matrix(loading, {"ffn_gate", "ffn_up"}, block);
        w.down = load_matrix(loading, {"ffn_down"}, block);
        return;
    }
    w.router = load_matrix(loading, {"ffn_gate_inp"}, block);
    for (int32_t expert = 0; expert < c.experts.count; ++expert) {
        const std::string number = "." + std::to_string(expert);
        const std::string gate = "ffn_gate" + number, up = "ffn_up" + number, down = "ffn_down" + number;
        w.expert_weights.push_back(load_matrix(loading, {gate.c_str(), up.c_str()}, block));
        w.expert_gate_up.push_back(w.expert_weights.back().get());
        w.expert_weights.push_back(load_matrix(loading, {down.c_str()}, block));
        w.expert_down.push_back(w.expert_weights.back().get());
    }
}

kernels::HeadShape Model::head_shape() const
{
    const ModelConfig& c = files_.config;
    return {c.heads, c.kv_heads, c.head_dim, c.scale(), c.attention_soft_cap};
}

} // namespace palimpsest::engine
