#include "engine/encoder/bert_model.h"

#include <algorithm>
#include <cassert>
#include <string>
#include <utility>

#include "kernels/base/convert.h"
#include "kernels/cpu/full_attention.h"
#include "kernels/cpu/gelu.h"

namespace palimpsest::engine {
namespace {

constexpr int64_t rows_of_a_task = 16;

kernels::HostMatrix host_matrix(const HostTensor& tensor)
{
    return {.type = tensor.type, .data = tensor.data, .rows = tensor.rows, .cols = tensor.cols};
}

// The sum of what a token gets for its position and for being in the only text.
std::vector<float> position_rows(const BertTensors& tensors)
{
    std::vector<float> rows = widened(tensors.at("embeddings.position_embeddings.weight"));
    const std::vector<float> types = widened(tensors.at("embeddings.token_type_embeddings.weight"));
    const auto width = static_cast<size_t>(tensors.at("embeddings.token_type_embeddings.weight").cols);
    for (size_t i = 0; i < rows.size(); ++i)
        rows[i] += types[i % width];
    return rows;
}

} // namespace

BertModel::BertModel(const BertConfig& config, const BertTensors& tensors, kernels::Backend& backend,
                     int64_t max_rows)
    : config_(config), backend_(backend), positions_(position_rows(tensors)), threads_(backend.threads()),
      scratch_(static_cast<size_t>(backend.threads()))
{
    assert(backend.name() == "cpu"); // the kernels below read and write backend memory
    const auto load_norm = [&](const std::string& name) {
        return Norm{widened(tensors.at(name + ".weight")), widened(tensors.at(name + ".bias"))};
    };
    const kernels::HostMatrix words = host_matrix(tensors.at("embeddings.word_embeddings.weight"));
    words_ = backend.load({&words, 1});
    embedding_norm_ = load_norm("embeddings.LayerNorm");
    for (int32_t l = 0; l < config.layers; ++l) {
        const std::string prefix = bert_layer_prefix(l), self = prefix + "attention.self.";
        Layer layer;
        layer.qkv = load_dense(tensors, {self + "query", self + "key", self + "value"});
        layer.output = load_dense(tensors, {prefix + "attention.output.dense"});
        layer.attention_norm = load_norm(prefix + "attention.output.LayerNorm");
        layer.up = load_dense(tensors, {prefix + "intermediate.dense"});
        layer.down = load_dense(tensors, {prefix + "output.dense"});
        layer.output_norm = load_norm(prefix + "output.LayerNorm");
        layers_.push_back(std::move(layer));
    }
    const auto buffer = [&](int64_t cols) {
        return kernels::Buffer(backend, static_cast<size_t>(max_rows) * static_cast<size_t>(cols) * sizeof(float));
    };
    x_ = buffer(config.width);
    wide_ = buffer(std::max(int64_t{3} * config.width, int64_t{config.ffn}));
    context_ = buffer(config.width);
}

BertModel::Dense BertModel::load_dense(const BertTensors& tensors, std::initializer_list<std::string> names) const
{
    Dense dense;
    std::vector<kernels::HostMatrix> parts;
    for (const std::string& name : names) {
        parts.push_back(host_matrix(tensors.at(name + ".weight")));
        const std::vector<float> bias = widened(tensors.at(name + ".bias"));
        dense.bias.insert(dense.bias.end(), bias.begin(), bias.end());
    }
    dense.weight = backend_.load(parts);
    return dense;
}

void BertModel::set_stop(std::stop_token stop)
{
    stop_ = stop;
    threads_.set_stop(stop);
    backend_.set_stop(std::move(stop));
}

template<class Body>
void BertModel::for_rows(const Body& body)
{
    threads_.run((rows_ + rows_of_a_task - 1) / rows_of_a_task, [&](int64_t task, int) {
        const int64_t first = task * rows_of_a_task;
        body(first, std::min(rows_of_a_task, rows_ - first));
    });
}

kernels::cpu::LayerNorm BertModel::norm_of(const Norm& norm) const
{
    return {.weight = norm.weight.data(), .bias = norm.bias.data(), .epsilon = config_.epsilon};
}

void BertModel::normalize(const Norm& norm)
{
    for_rows([&](int64_t first, int64_t count) {
        for (int64_t r = first; r < first + count; ++r)
            kernels::cpu::layer_norm(norm_of(norm), x_.data<float>() + r * config_.width, config_.width);
    });
}

void BertModel::embed(std::span<const TokenId> ids, std::span<const int32_t> lengths)
{
    float* x = x_.data<float>();
    backend_.embed({.table = words_.get(), .ids = ids, .y = x});
    for (const int32_t length : lengths) {
        const int64_t floats = int64_t{length} * config_.width;
        for (int64_t i = 0; i < floats; ++i)
            x[i] += positions_[static_cast<size_t>(i)];
        x += floats;
    }
    normalize(embedding_norm_);
}

void BertModel::multiply(const float* x, const Dense& dense, float* y, bool accumulate)
{
    kernels::LinearArgs args;
    args.x = x;
    args.rows = rows_;
    args.weight = dense.weight.get();
    args.bias = dense.bias.data();
    args.y = y;
    args.accumulate = accumulate;
    backend_.linear(args);
}

void BertModel::attend(std::span<const int32_t> lengths)
{
    std::vector<kernels::cpu::FullAttention> texts;
    size_t floats = 0;
    int64_t first = 0;
    for (const int32_t length : lengths) {
        texts.push_back({.qkv = wide_.data<float>() + first * 3 * config_.width,
                         .tokens = length,
                         .heads = config_.heads,
                         .head_dim = config_.head_dim(),
                         .out = context_.data<float>() + first * config_.width});
        floats = std::max(floats, full_attention_floats(texts.back()));
        first += length;
    }
    for (kernels::Scratch& scratch : scratch_)
        scratch.get<float>(floats); // allocates here, because tasks must not throw
    threads_.run(std::ssize(texts) * config_.heads, [&](int64_t task, int worker) {
        kernels::cpu::attend_fully(texts[static_cast<size_t>(task / config_.heads)], task % config_.heads,
                                   scratch_[static_cast<size_t>(worker)].get<float>(floats));
    });
}

std::span<const float> BertModel::run(std::span<const TokenId> ids, std::span<const int32_t> lengths)
{
    rows_ = std::ssize(ids);
    assert(static_cast<size_t>(rows_ * config_.width) * sizeof(float) <= x_.bytes());
    float *x = x_.data<float>(), *wide = wide_.data<float>(), *context = context_.data<float>();
    embed(ids, lengths);
    for (const Layer& layer : layers_) {
        if (stop_.stop_requested()) break;
        multiply(x, layer.qkv, wide, false);
        attend(lengths);
        multiply(context, layer.output, x, true);
        normalize(layer.attention_norm);
        multiply(x, layer.up, wide, false);
        for_rows([&](int64_t first, int64_t count) {
            kernels::cpu::gelu(wide + first * config_.ffn, count * config_.ffn);
        });
        multiply(wide, layer.down, x, true);
        normalize(layer.output_norm);
    }
    return {x, ids.size() * static_cast<size_t>(config_.width)};
}

} // namespace palimpsest::engine
