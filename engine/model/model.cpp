#include "engine/model/model.h"

#include <algorithm>
#include <cmath>

#include "kernels/base/error.h"

namespace palimpsest::engine {
namespace {

// open_model has proved that every required tensor exists; a missing one here is our bug.
const HostTensor& required(const ModelFiles& files, const std::string& name)
{
    const HostTensor* tensor = files.find(name);
    if (tensor) return *tensor;
    throw Error(ErrorKind::Internal, "PAL-RUN-70", files.path.string(), "tensor '" + name + "' was not validated",
                "report this");
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

// A bias lies in the same row order as its weight: bring adjacent pairs to half-split order.
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

// How much of the weights was taken.
class Loading {
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
    // What else the files hold is not taken.
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

} // namespace

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

Model::Model(ModelFiles files, std::unique_ptr<Tokenizer> tokenizer, std::shared_ptr<kernels::Backend> backend,
             const LoadOptions& options)
    : files_(std::move(files)), backend_(std::move(backend)), tokenizer_(std::move(tokenizer))
{
    const ModelConfig& c = files_.config;
    Loading loading(files_, options);
    const auto load = [&](std::initializer_list<kernels::HostMatrix> parts) {
        loading.check();
        matrices_.insert(matrices_.end(), parts.begin(), parts.end());
        auto weight = backend_->load(std::span(parts.begin(), parts.size()));
        for (const kernels::HostMatrix& part : parts)
            loading.take(static_cast<size_t>(part.rows * kernels::row_bytes(part.type, part.cols)));
        return weight;
    };
    embedding_ = load({matrix(required(files_, "token_embd.weight"))});
    if (!c.tied_embeddings) output_ = load({matrix(required(files_, "output.weight"))});
    output_norm_ = upload(*backend_, floats(required(files_, "output_norm.weight")));

    const int32_t paired = c.paired_rotary ? c.head_dim : 0;
    layers_.resize(static_cast<size_t>(c.layers));
    for (int32_t l = 0; l < c.layers; ++l) {
        const std::string block = "blk." + std::to_string(l) + ".";
        const auto tensor = [&](const char* name) -> const HostTensor& { return required(files_, block + name); };
        LayerWeights& w = layers_[static_cast<size_t>(l)];
        w.attention_norm = upload(*backend_, floats(tensor("attn_norm.weight")));
        w.qkv = load({matrix(tensor("attn_q.weight"), paired), matrix(tensor("attn_k.weight"), paired),
                      matrix(tensor("attn_v.weight"))});
        if (c.qkv_bias) {
            std::vector<float> bias;
            for (const char* name : {"attn_q.bias", "attn_k.bias", "attn_v.bias"}) {
                auto part = floats(tensor(name));
                if (paired && name[5] != 'v') part = unpaired(std::move(part), c.head_dim);
                bias.insert(bias.end(), part.begin(), part.end());
            }
            w.qkv_bias = upload(*backend_, bias);
        }
        w.output = load({matrix(tensor("attn_output.weight"))});
        w.ffn_norm = upload(*backend_, floats(tensor("ffn_norm.weight")));
        w.gate_up = load({matrix(tensor("ffn_gate.weight")), matrix(tensor("ffn_up.weight"))});
        w.down = load({matrix(tensor("ffn_down.weight"))});
    }
    loading.finish();
}

kernels::HeadShape Model::head_shape() const
{
    const ModelConfig& c = files_.config;
    return {c.heads, c.kv_heads, c.head_dim, 1.0f / std::sqrt(static_cast<float>(c.head_dim))};
}

} // namespace palimpsest::engine
