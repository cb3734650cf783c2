#include "tests/support/reference_model.h"

#include <algorithm>
#include <cmath>

#include "kernels/base/dtype.h"

namespace palimpsest::tests {
namespace {

using Vector = std::vector<double>;

Vector widen(const engine::ModelFiles& files, const std::string& name)
{
    const engine::HostTensor* tensor = files.find(name);
    if (!tensor) return {};
    std::vector<float> values(static_cast<size_t>(tensor->rows * tensor->cols));
    kernels::to_f32(tensor->type, tensor->data, values.data(), static_cast<int64_t>(values.size()));
    return {values.begin(), values.end()};
}

// Rows of adjacent pairs (2i, 2i+1) per head to half-split (i, i + d/2).
Vector unpair(const Vector& rows, size_t width, size_t head_dim)
{
    Vector out(rows.size());
    for (size_t r = 0; r < rows.size() / width; ++r) {
        const size_t head = r / head_dim, j = r % head_dim;
        const size_t from = head * head_dim + (j < head_dim / 2 ? 2 * j : 2 * (j - head_dim / 2) + 1);
        for (size_t c = 0; c < width; ++c)
            out[r * width + c] = rows[from * width + c];
    }
    return out;
}

Vector product(const Vector& matrix, const Vector& x, const Vector& bias = {})
{
    Vector y(matrix.size() / x.size());
    for (size_t r = 0; r < y.size(); ++r) {
        double sum = bias.empty() ? 0.0 : bias[r];
        for (size_t c = 0; c < x.size(); ++c)
            sum += matrix[r * x.size() + c] * x[c];
        y[r] = sum;
    }
    return y;
}

Vector rms_norm(const Vector& x, const Vector& weight, double epsilon)
{
    double squares = 0;
    for (const double value : x)
        squares += value * value;
    const double scale = 1.0 / std::sqrt(squares / static_cast<double>(x.size()) + epsilon);
    Vector y(x.size());
    for (size_t i = 0; i < x.size(); ++i)
        y[i] = x[i] * scale * weight[i];
    return y;
}

} // namespace

ReferenceModel::ReferenceModel(const engine::ModelFiles& files) : config_(files.config)
{
    const auto dim = static_cast<size_t>(config_.dim);
    const auto head_dim = static_cast<size_t>(config_.head_dim);
    embedding = widen(files, "token_embd.weight");
    output_norm = widen(files, "output_norm.weight");
    output = config_.tied_embeddings ? embedding : widen(files, "output.weight");
    for (int32_t l = 0; l < config_.layers; ++l) {
        const std::string b = "blk." + std::to_string(l) + ".";
        Layer w;
        w.attention_norm = widen(files, b + "attn_norm.weight");
        w.q = widen(files, b + "attn_q.weight");
        w.k = widen(files, b + "attn_k.weight");
        w.v = widen(files, b + "attn_v.weight");
        w.q_bias = widen(files, b + "attn_q.bias");
        w.k_bias = widen(files, b + "attn_k.bias");
        w.v_bias = widen(files, b + "attn_v.bias");
        if (config_.paired_rotary) {
            w.q = unpair(w.q, dim, head_dim);
            w.k = unpair(w.k, dim, head_dim);
            if (!w.q_bias.empty()) w.q_bias = unpair(w.q_bias, 1, head_dim);
            if (!w.k_bias.empty()) w.k_bias = unpair(w.k_bias, 1, head_dim);
        }
        w.output = widen(files, b + "attn_output.weight");
        w.ffn_norm = widen(files, b + "ffn_norm.weight");
        w.gate = widen(files, b + "ffn_gate.weight");
        w.up = widen(files, b + "ffn_up.weight");
        w.down = widen(files, b + "ffn_down.weight");
        layers.push_back(std::move(w));
    }
}

ReferenceStream::ReferenceStream(const ReferenceModel& model, bool contiguous)
    : model_(model), contiguous_(contiguous)
{
    const engine::ModelConfig& c = model.config();
    for (int32_t i = 0; i < c.rotary_dim / 2; ++i) {
        // Frequencies and angles are f32 by definition, as models are trained with them; all else here is f64.
        float frequency =
            1.0f / std::pow(c.rope_base, static_cast<float>(2 * i) / static_cast<float>(c.rotary_dim));
        if (!c.rope_factors.empty()) frequency /= c.rope_factors[static_cast<size_t>(i)];
        inverse_frequencies_.push_back(frequency);
    }
    lists_.resize(static_cast<size_t>(c.layers * c.kv_heads));
}

std::vector<ReferenceStream::Entry>& ReferenceStream::list(int layer, int head)
{
    return lists_[static_cast<size_t>(layer * model_.config().kv_heads + head)];
}

void ReferenceStream::drop(int layer, int head, std::span<const uint32_t> ranks)
{
    auto& entries = list(layer, head);
    std::vector<Entry> left;
    for (uint32_t rank = 0; rank < entries.size(); ++rank)
        if (!std::binary_search(ranks.begin(), ranks.end(), rank)) left.push_back(std::move(entries[rank]));
    entries = std::move(left);
}

Vector ReferenceStream::rotate(const Vector& x, uint64_t position) const
{
    Vector y = x;
    const size_t half = inverse_frequencies_.size();
    for (size_t i = 0; i < half; ++i) {
        const auto angle = static_cast<double>(static_cast<float>(position) * inverse_frequencies_[i]);
        y[i] = x[i] * std::cos(angle) - x[i + half] * std::sin(angle);
        y[i + half] = x[i] * std::sin(angle) + x[i + half] * std::cos(angle);
    }
    return y;
}

void ReferenceStream::merge(int layer, int head, uint32_t into, std::span<const uint32_t> of)
{
    auto& entries = list(layer, head);
    const size_t d = entries[into].key.size();
    Vector key(d, 0.0), value(d, 0.0);
    for (const uint32_t rank : of) {
        for (size_t i = 0; i < d; ++i) {
            key[i] += entries[rank].key[i] / static_cast<double>(of.size());
            value[i] += entries[rank].value[i] / static_cast<double>(of.size());
        }
    }
    entries[into].key = std::move(key);
    entries[into].value = std::move(value);
    entries[into].turned.clear();
}

void ReferenceStream::append(int layer, size_t row, const Vector& keys, const Vector& values)
{
    const auto d = static_cast<std::ptrdiff_t>(model_.config().head_dim);
    for (int h = 0; h < model_.config().kv_heads; ++h) {
        list(layer, h).push_back({.stream = static_cast<uint32_t>(seen_ + row),
                                  .key = Vector(keys.begin() + h * d, keys.begin() + (h + 1) * d),
                                  .value = Vector(values.begin() + h * d, values.begin() + (h + 1) * d)});
    }
}

void ReferenceStream::turn_keys(int layer)
{
    for (int h = 0; h < model_.config().kv_heads; ++h) {
        auto& entries = list(layer, h);
        for (size_t j = 0; j < entries.size(); ++j) {
            Entry& entry = entries[j];
            const uint64_t position = contiguous_ ? j : entry.stream;
            if (!entry.turned.empty() && entry.turned_at == position) continue;
            entry.turned = rotate(entry.key, position);
            entry.turned_at = position;
        }
    }
}

Vector ReferenceStream::attend_head(const std::vector<Entry>& entries, size_t visible, const Vector& query,
                                    const std::vector<int>* ranks, double* out) const
{
    const size_t d = query.size(), count = ranks ? ranks->size() : visible;
    const auto rank_of = [&](size_t i) { return ranks ? static_cast<size_t>((*ranks)[i]) : i; };
    Vector weights(entries.size(), 0.0);
    double largest = -INFINITY;
    for (size_t i = 0; i < count; ++i) {
        const Vector& key = entries[rank_of(i)].turned;
        double dot = 0;
        for (size_t x = 0; x < d; ++x)
            dot += query[x] * key[x];
        weights[rank_of(i)] = dot / std::sqrt(static_cast<double>(d));
        largest = std::max(largest, weights[rank_of(i)]);
    }
    double sum = 0;
    for (size_t i = 0; i < count; ++i)
        sum += weights[rank_of(i)] = std::exp(weights[rank_of(i)] - largest);
    for (size_t i = 0; i < count; ++i) {
        double& weight = weights[rank_of(i)];
        weight /= sum;
        for (size_t x = 0; x < d; ++x)
            out[x] += weight * entries[rank_of(i)].value[x];
    }
    return weights;
}

Vector ReferenceStream::attend(int layer, size_t row, size_t rows, const Vector& queries, const RowSink& sink,
                               const Retriever& retriever)
{
    const engine::ModelConfig& c = model_.config();
    const auto d = static_cast<size_t>(c.head_dim), group = static_cast<size_t>(c.heads / c.kv_heads);
    Vector out(static_cast<size_t>(c.heads) * d, 0.0);
    for (int h = 0; h < c.kv_heads; ++h) {
        const auto& entries = list(layer, h);
        const size_t visible = entries.size() - rows + row + 1, first = static_cast<size_t>(h) * group;
        const uint64_t position = contiguous_ ? visible - 1 : seen_ + row;
        std::vector<Vector> turned;
        for (size_t g = 0; g < group; ++g) {
            const auto at = queries.begin() + static_cast<std::ptrdiff_t>((first + g) * d);
            turned.push_back(rotate(Vector(at, at + static_cast<std::ptrdiff_t>(d)), position));
        }
        std::vector<std::vector<int>> ranks;
        if (retriever) {
            std::vector<Vector> keys;
            for (const Entry& entry : entries)
                keys.push_back(entry.turned);
            ranks = retriever(layer, turned, keys);
        }
        std::vector<Vector> attention;
        for (size_t g = 0; g < group; ++g)
            attention.push_back(attend_head(entries, visible, turned[g], retriever ? &ranks[g] : nullptr,
                                            out.data() + (first + g) * d));
        if (sink) sink(layer, h, static_cast<int>(row), attention);
    }
    return out;
}

void ReferenceStream::feed_forward(const ReferenceModel::Layer& w, Vector& x) const
{
    const Vector normed = rms_norm(x, w.ffn_norm, static_cast<double>(model_.config().rms_epsilon));
    const Vector up = product(w.up, normed);
    Vector hidden = product(w.gate, normed);
    for (size_t i = 0; i < hidden.size(); ++i)
        hidden[i] = hidden[i] / (1.0 + std::exp(-hidden[i])) * up[i];
    const Vector out = product(w.down, hidden);
    for (size_t i = 0; i < x.size(); ++i)
        x[i] += out[i];
}

Vector ReferenceStream::feed(std::span<const int32_t> tokens, const RowSink& sink, const Retriever& retriever)
{
    const engine::ModelConfig& c = model_.config();
    const auto dim = static_cast<size_t>(c.dim);
    const auto epsilon = static_cast<double>(c.rms_epsilon);
    const size_t rows = tokens.size();
    std::vector<Vector> x(rows), queries(rows);
    for (size_t r = 0; r < rows; ++r) {
        const auto at =
            model_.embedding.begin() + static_cast<std::ptrdiff_t>(static_cast<size_t>(tokens[r]) * dim);
        x[r] = Vector(at, at + static_cast<std::ptrdiff_t>(dim));
    }
    for (int l = 0; l < c.layers; ++l) {
        const ReferenceModel::Layer& w = model_.layers[static_cast<size_t>(l)];
        for (size_t r = 0; r < rows; ++r) {
            const Vector normed = rms_norm(x[r], w.attention_norm, epsilon);
            queries[r] = product(w.q, normed, w.q_bias);
            append(l, r, product(w.k, normed, w.k_bias), product(w.v, normed, w.v_bias));
        }
        turn_keys(l);
        for (size_t r = 0; r < rows; ++r) {
            const Vector out = product(w.output, attend(l, r, rows, queries[r], sink, retriever));
            for (size_t i = 0; i < dim; ++i)
                x[r][i] += out[i];
            feed_forward(w, x[r]);
        }
    }
    seen_ += rows;
    return product(model_.output, rms_norm(x.back(), model_.output_norm, epsilon));
}

} // namespace palimpsest::tests
