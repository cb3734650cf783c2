#include "tests/support/reference_model.h"

#include <algorithm>
#include <cmath>

#include "kernels/base/convert.h"

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

// Converts rows from adjacent pairs (2i, 2i+1) per head to half-split (i, i + d/2).
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

Vector norm_or_not(const Vector& x, const Vector& weight, double epsilon)
{
    return weight.empty() ? x : rms_norm(x, weight, epsilon);
}

Vector rows_of(const Vector& matrix, size_t width, size_t first, size_t count)
{
    const auto at = matrix.begin() + static_cast<std::ptrdiff_t>(first * width);
    return {at, at + static_cast<std::ptrdiff_t>(count * width)};
}

// Normalizes each part of `part` numbers separately.
void norm_parts(Vector& x, size_t part, const Vector& weight, double epsilon)
{
    for (size_t at = 0; at < x.size(); at += part) {
        const Vector normed = rms_norm(rows_of(x, 1, at, part), weight, epsilon);
        std::copy(normed.begin(), normed.end(), x.begin() + static_cast<std::ptrdiff_t>(at));
    }
}

double soft_capped(double x, float cap)
{
    return cap > 0 ? static_cast<double>(cap) * std::tanh(x / static_cast<double>(cap)) : x;
}

double activated(double x, kernels::Activation activation)
{
    if (activation == kernels::Activation::Silu) return x / (1.0 + std::exp(-x));
    constexpr double root_of_2_by_pi = 0.79788456080286535588;
    return 0.5 * x * (1.0 + std::tanh(root_of_2_by_pi * (x + 0.044715 * x * x * x)));
}

} // namespace

ReferenceModel::ReferenceModel(const engine::ModelFiles& files) : config_(files.config)
{
    const auto dim = static_cast<size_t>(config_.dim);
    const auto head_dim = static_cast<size_t>(config_.head_dim);
    embedding = widen(files, "token_embd.weight");
    const auto norm = [&](const std::string& name) {
        Vector weight = widen(files, name);
        for (double& w : weight)
            w += static_cast<double>(config_.norm_offset);
        return weight;
    };
    output_norm = norm("output_norm.weight");
    output = config_.tied_embeddings ? embedding : widen(files, "output.weight");
    for (int32_t l = 0; l < config_.layers; ++l) {
        const std::string b = "blk." + std::to_string(l) + ".";
        Layer w;
        const size_t query_rows = static_cast<size_t>(config_.heads) * head_dim;
        const size_t key_rows = static_cast<size_t>(config_.kv_heads) * head_dim;
        w.attention_norm = norm(b + "attn_norm.weight");
        if (const Vector all = widen(files, b + "attn_qkv.weight"); !all.empty()) {
            w.q = rows_of(all, dim, 0, query_rows);
            w.k = rows_of(all, dim, query_rows, key_rows);
            w.v = rows_of(all, dim, query_rows + key_rows, key_rows);
        } else {
            w.q = widen(files, b + "attn_q.weight");
            w.k = widen(files, b + "attn_k.weight");
            w.v = widen(files, b + "attn_v.weight");
        }
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
        w.q_norm = norm(b + "attn_q_norm.weight");
        w.k_norm = norm(b + "attn_k_norm.weight");
        w.post_attention_norm = norm(b + "post_attention_norm.weight");
        w.ffn_norm = norm(b + "ffn_norm.weight");
        w.post_ffn_norm = norm(b + "post_ffw_norm.weight");
        w.router = widen(files, b + "ffn_gate_inp.weight");
        for (int32_t e = 0; e < std::max(config_.experts.count, 1); ++e) {
            const std::string number = config_.experts.count > 0 ? "." + std::to_string(e) : std::string();
            Layer::FeedForward part = {widen(files, (b + "ffn_gate").append(number).append(".weight")),
                                       widen(files, (b + "ffn_up").append(number).append(".weight")),
                                       widen(files, (b + "ffn_down").append(number).append(".weight"))};
            if (part.gate.empty()) { // gate and up are fused
                const auto ffn = static_cast<size_t>(config_.ffn);
                part.gate = rows_of(part.up, dim, 0, ffn);
                part.up = rows_of(part.up, dim, ffn, ffn);
            }
            w.experts.push_back(std::move(part));
        }
        layers.push_back(std::move(w));
    }
}

ReferenceStream::ReferenceStream(const ReferenceModel& model, bool contiguous, int64_t reach)
    : model_(model), contiguous_(contiguous)
{
    const engine::ModelConfig& c = model.config();
    for (int32_t l = 0; l < c.layers; ++l) {
        const engine::RopePlan& rope = c.rope_of(l);
        const bool is_long = !rope.long_factors.empty() && reach > c.original_context;
        const std::vector<float>& factors = is_long ? rope.long_factors : rope.factors;
        std::vector<float> frequencies;
        for (int32_t i = 0; i < c.rotary_dim / 2; ++i) {
            // Frequencies and angles are f32, as in the training of the models; everything else here is f64.
            float frequency =
                1.0f / std::pow(rope.base, static_cast<float>(2 * i) / static_cast<float>(c.rotary_dim));
            if (!factors.empty()) frequency /= factors[static_cast<size_t>(i)];
            frequencies.push_back(frequency);
        }
        inverse_frequencies_.push_back(std::move(frequencies));
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

// RoPE as in the models' reference implementations: cosine and sine times the attention factor.
Vector ReferenceStream::rotate(int layer, const Vector& x, uint64_t position) const
{
    Vector y = x;
    const std::vector<float>& frequencies = inverse_frequencies_[static_cast<size_t>(layer)];
    const auto factor = static_cast<double>(model_.config().rope_of(layer).attention_factor);
    const size_t half = frequencies.size();
    for (size_t i = 0; i < half; ++i) {
        const auto angle = static_cast<double>(static_cast<float>(position) * frequencies[i]);
        const double cosine = std::cos(angle) * factor, sine = std::sin(angle) * factor;
        y[i] = x[i] * cosine - x[i + half] * sine;
        y[i + half] = x[i] * sine + x[i + half] * cosine;
    }
    return y;
}

void ReferenceStream::prepare(const ReferenceModel::Layer& w, Vector& queries, Vector& keys) const
{
    const engine::ModelConfig& c = model_.config();
    if (c.head_norm == engine::HeadNorm::None) return;
    const bool across = c.head_norm == engine::HeadNorm::AcrossHeads;
    const auto epsilon = static_cast<double>(c.rms_epsilon);
    const auto d = static_cast<size_t>(c.head_dim);
    norm_parts(queries, across ? queries.size() : d, w.q_norm, epsilon);
    norm_parts(keys, across ? keys.size() : d, w.k_norm, epsilon);
}

// Inverse rotation: negates the second half, rotates forward, and negates it again.
Vector ReferenceStream::rotate_back(int layer, Vector x, uint64_t position) const
{
    const size_t half = inverse_frequencies_[static_cast<size_t>(layer)].size();
    const auto factor = static_cast<double>(model_.config().rope_of(layer).attention_factor);
    const auto mirror = [&](Vector& v) {
        for (size_t i = half; i < 2 * half; ++i)
            v[i] = -v[i];
    };
    mirror(x);
    x = rotate(layer, x, position);
    mirror(x);
    for (size_t i = 0; i < 2 * half; ++i)
        x[i] /= factor * factor;
    return x;
}

void ReferenceStream::merge(int layer, int head, uint32_t into, std::span<const uint32_t> of, bool rotated)
{
    auto& entries = list(layer, head);
    const auto position = [&](uint32_t rank) -> uint64_t { return contiguous_ ? rank : entries[rank].stream; };
    const size_t d = entries[into].key.size();
    Vector key(d, 0.0), value(d, 0.0);
    for (const uint32_t rank : of) {
        const Vector one = rotated ? rotate(layer, entries[rank].key, position(rank)) : entries[rank].key;
        for (size_t i = 0; i < d; ++i) {
            key[i] += one[i] / static_cast<double>(of.size());
            value[i] += entries[rank].value[i] / static_cast<double>(of.size());
        }
    }
    entries[into].key = rotated ? rotate_back(layer, key, position(into)) : std::move(key);
    entries[into].value = std::move(value);
    entries[into].rotated.clear();
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
            if (!entry.rotated.empty() && entry.rotated_at == position) continue;
            entry.rotated = rotate(layer, entry.key, position);
            entry.rotated_at = position;
        }
    }
}

Vector ReferenceStream::attend_head(int layer, const std::vector<Entry>& entries, size_t visible,
                                    const Vector& query, const std::vector<int>* ranks, double* out) const
{
    const engine::ModelConfig& c = model_.config();
    const auto window = static_cast<size_t>(c.plan(layer).window);
    const size_t first = window > 0 && visible > window ? visible - window : 0;
    const size_t d = query.size(), count = ranks ? ranks->size() : visible - first;
    const auto rank_of = [&](size_t i) { return ranks ? static_cast<size_t>((*ranks)[i]) : first + i; };
    Vector weights(entries.size(), 0.0);
    double largest = -INFINITY;
    for (size_t i = 0; i < count; ++i) {
        const Vector& key = entries[rank_of(i)].rotated;
        double dot = 0;
        for (size_t x = 0; x < d; ++x)
            dot += query[x] * key[x];
        weights[rank_of(i)] = soft_capped(dot * static_cast<double>(c.scale()), c.attention_soft_cap);
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
        std::vector<Vector> rotated;
        for (size_t g = 0; g < group; ++g) {
            const auto at = queries.begin() + static_cast<std::ptrdiff_t>((first + g) * d);
            rotated.push_back(rotate(layer, Vector(at, at + static_cast<std::ptrdiff_t>(d)), position));
        }
        std::vector<std::vector<int>> ranks;
        if (retriever) {
            std::vector<Vector> keys;
            keys.reserve(entries.size());
            for (const Entry& entry : entries)
                keys.push_back(entry.rotated);
            ranks = retriever(layer, rotated, keys);
        }
        std::vector<Vector> attention;
        for (size_t g = 0; g < group; ++g)
            attention.push_back(attend_head(layer, entries, visible, rotated[g], retriever ? &ranks[g] : nullptr,
                                            out.data() + (first + g) * d));
        if (sink) sink(layer, h, static_cast<int>(row), attention);
    }
    return out;
}

Vector ReferenceStream::gated(const ReferenceModel::Layer::FeedForward& w, const Vector& x) const
{
    const Vector up = product(w.up, x);
    Vector hidden = product(w.gate, x);
    for (size_t i = 0; i < hidden.size(); ++i)
        hidden[i] = activated(hidden[i], model_.config().activation) * up[i];
    return product(w.down, hidden);
}

void ReferenceStream::feed_forward(const ReferenceModel::Layer& w, Vector& x) const
{
    const engine::ModelConfig& c = model_.config();
    const auto epsilon = static_cast<double>(c.rms_epsilon);
    const Vector normed = norm_or_not(x, w.ffn_norm, epsilon);
    Vector out(x.size(), 0.0);
    if (c.experts.count == 0) {
        out = gated(w.experts.front(), normed);
    } else {
        Vector shares = product(w.router, normed);
        const double largest = *std::max_element(shares.begin(), shares.end());
        double all = 0, chosen_sum = 0;
        for (double& share : shares)
            all += share = std::exp(share - largest);
        std::vector<size_t> order(shares.size());
        for (size_t e = 0; e < order.size(); ++e)
            order[e] = e;
        std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return shares[a] > shares[b]; });
        order.resize(static_cast<size_t>(c.experts.used));
        for (const size_t e : order)
            chosen_sum += shares[e];
        for (const size_t e : order) {
            const Vector part = gated(w.experts[e], normed);
            const double weight = shares[e] / (c.experts.renormalise ? chosen_sum : all);
            for (size_t i = 0; i < out.size(); ++i)
                out[i] += weight * part[i];
        }
    }
    out = norm_or_not(out, w.post_ffn_norm, epsilon);
    for (size_t i = 0; i < x.size(); ++i)
        x[i] += static_cast<double>(c.residual_factor) * out[i];
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
        for (double& value : x[r])
            value *= static_cast<double>(c.embedding_factor);
    }
    for (int l = 0; l < c.layers; ++l) {
        const ReferenceModel::Layer& w = model_.layers[static_cast<size_t>(l)];
        for (size_t r = 0; r < rows; ++r) {
            const Vector normed = norm_or_not(x[r], w.attention_norm, epsilon);
            queries[r] = product(w.q, normed, w.q_bias);
            Vector keys = product(w.k, normed, w.k_bias);
            prepare(w, queries[r], keys);
            append(l, r, keys, product(w.v, normed, w.v_bias));
        }
        turn_keys(l);
        for (size_t r = 0; r < rows; ++r) {
            const Vector out = norm_or_not(product(w.output, attend(l, r, rows, queries[r], sink, retriever)),
                                           w.post_attention_norm, epsilon);
            for (size_t i = 0; i < dim; ++i)
                x[r][i] += static_cast<double>(c.residual_factor) * out[i];
            feed_forward(w, x[r]);
        }
    }
    seen_ += rows;
    Vector logits = product(model_.output, rms_norm(x.back(), model_.output_norm, epsilon));
    for (double& logit : logits)
        logit = soft_capped(logit * static_cast<double>(c.logit_factor), c.logit_soft_cap);
    return logits;
}

} // namespace palimpsest::tests
