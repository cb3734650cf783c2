#include "engine/model/transformer.h"

#include <algorithm>
#include <cassert>
#include <numeric>

namespace palimpsest::engine {
namespace {

constexpr int64_t logit_rows = 64; // rows that go through the output matrix at once

static_assert(SignalNeeds::all == kernels::SignalRequest::all);

class StopScope {
public:
    StopScope(kernels::Backend& backend, std::stop_token stop) : backend_(backend)
    {
        backend_.set_stop(std::move(stop));
    }
    ~StopScope() { backend_.set_stop({}); }
    StopScope(const StopScope&) = delete;
    StopScope& operator=(const StopScope&) = delete;

private:
    kernels::Backend& backend_;
};

} // namespace

Transformer::Transformer(const Model& model, PositionMode positions, int32_t max_rows, int32_t max_ranks,
                         SignalNeeds signals)
    : model_(model), shape_(model.head_shape()), angles_(model.config()), positions_(positions), signals_(signals),
      ranks_(max_ranks)
{
    const ModelConfig& c = model.config();
    kernels::Backend& backend = model.backend();
    const auto rows = static_cast<size_t>(max_rows);
    x_ = kernels::Buffer(backend, rows * static_cast<size_t>(c.dim) * sizeof(float));
    qkv_ = kernels::Buffer(backend, rows * static_cast<size_t>(shape_.qkv_width()) * sizeof(float));
    heads_ = kernels::Buffer(backend, rows * static_cast<size_t>(c.heads * c.head_dim) * sizeof(float));
    if (signals.any())
        sums_ = kernels::Buffer(backend, static_cast<size_t>(c.layers * c.kv_heads * ranks_) * sizeof(float));
    const int64_t positions_at_once = positions == PositionMode::Contiguous ? max_ranks : max_rows;
    rope_ = kernels::Buffer(backend, static_cast<size_t>(positions_at_once * c.rotary_dim) * sizeof(float));
    if (positions == PositionMode::Contiguous) {
        const std::vector<float> table = angles_.table(0, max_ranks);
        backend.upload(rope_.data(), table.data(), rope_.bytes());
        rope_rows_ = max_ranks;
    }
    logits_ = kernels::Buffer(backend, static_cast<size_t>(std::min<int64_t>(logit_rows, max_rows) * c.vocabulary) *
                                           sizeof(float));
}

bool Transformer::prefill(std::span<const TokenId> tokens, std::span<const int32_t> chunk_rows, uint64_t first,
                          KvCache& cache, bool coupled, LayerStep& step, std::stop_token stop)
{
    assert(std::accumulate(chunk_rows.begin(), chunk_rows.end(), int64_t{0}) == std::ssize(tokens));
    assert(!coupled || chunk_rows.size() == 1);
    cache.straighten();
    rows_ = std::ssize(tokens);
    phase_ = kernels::Phase::Prefill;
    prepare_angles(first, rows_);

    const int32_t layers = model_.config().layers;
    int32_t attended = 0;
    {
        const StopScope stoppable(model_.backend(), coupled ? stop : std::stop_token());
        model_.backend().embed({.table = &model_.embedding(), .ids = tokens, .y = x_.data<float>()});
        while (attended < layers && !(coupled && stop.stop_requested())) {
            const int32_t l = attended++;
            project_qkv(l);
            int64_t row = 0;
            for (size_t i = 0; i < chunk_rows.size(); ++i) {
                attend_chunk(l, row, chunk_rows[i], first, cache);
                if (!coupled) step.attended(l, static_cast<int32_t>(i), chunk_rows[i], phase_, sums_of(l), ranks_);
                row += chunk_rows[i];
            }
            finish_layer(l);
        }
    }
    if (!coupled) return true;
    // A stop that came before the scope's end may have cut any operation short, the last one too.
    const bool stopped = attended < layers || stop.stop_requested();
    for (int32_t l = 0; l < attended; ++l) {
        if (stopped)
            cache.take_back(l, chunk_rows[0]);
        else
            step.attended(l, 0, chunk_rows[0], phase_, sums_of(l), ranks_);
    }
    return !stopped;
}

void Transformer::decode(TokenId token, uint64_t index, KvCache& cache, LayerStep& step)
{
    constexpr int32_t displaced_rows_worth_a_sweep = 256; // performance.md, 1.2
    if (cache.displaced() >= displaced_rows_worth_a_sweep) cache.straighten();
    rows_ = 1;
    phase_ = kernels::Phase::Decode;
    prepare_angles(index, 1);

    model_.backend().embed({.table = &model_.embedding(), .ids = {&token, 1}, .y = x_.data<float>()});
    for (int32_t l = 0; l < model_.config().layers; ++l) {
        project_qkv(l);
        model_.backend().decode_attend({.shape = shape_,
                                        .qkv = qkv_.data<float>(),
                                        .pool = cache.pool(),
                                        .lists = cache.lists(l),
                                        .rotation = rotation(0),
                                        .out = heads_.data<float>(),
                                        .signals = request(l),
                                        .retrieval = {}});
        cache.append(l, static_cast<uint32_t>(index), 1);
        step.attended(l, 0, 1, phase_, sums_of(l), ranks_);
        finish_layer(l);
    }
}

void Transformer::attend_chunk(int32_t layer, int64_t row, int32_t rows, uint64_t first, KvCache& cache)
{
    kernels::Backend& backend = model_.backend();
    const float* qkv = qkv_.data<float>() + row * shape_.qkv_width();
    const kernels::Rotation turn = rotation(row);
    backend.stage({.shape = shape_,
                   .qkv = qkv,
                   .rows = rows,
                   .type = cache.shape().type,
                   .staging = cache.staging(layer),
                   .rotation = turn});
    backend.attend({.shape = shape_,
                    .qkv = qkv,
                    .rows = rows,
                    .pool = cache.pool(),
                    .lists = cache.lists(layer),
                    .staging = cache.staging(layer),
                    .rotation = turn,
                    .out = heads_.data<float>() + row * shape_.query_heads * shape_.head_dim,
                    .signals = request(layer)});
    cache.append(layer, static_cast<uint32_t>(first + static_cast<uint64_t>(row)), rows);
}

void Transformer::project_qkv(int32_t layer)
{
    const LayerWeights& w = model_.layer(layer);
    model_.backend().linear({.x = x_.data<float>(),
                             .rows = rows_,
                             .norm = {w.attention_norm.data<float>(), model_.config().rms_epsilon},
                             .weight = w.qkv.get(),
                             .bias = w.qkv_bias.data<float>(),
                             .y = qkv_.data<float>(),
                             .phase = phase_});
}

void Transformer::finish_layer(int32_t layer)
{
    const LayerWeights& w = model_.layer(layer);
    model_.backend().linear({.x = heads_.data<float>(),
                             .rows = rows_,
                             .norm = {},
                             .weight = w.output.get(),
                             .bias = nullptr,
                             .y = x_.data<float>(),
                             .accumulate = true,
                             .phase = phase_});
    model_.backend().feed_forward({.x = x_.data<float>(),
                                   .rows = rows_,
                                   .norm = {w.ffn_norm.data<float>(), model_.config().rms_epsilon},
                                   .gate_up = w.gate_up.get(),
                                   .down = w.down.get(),
                                   .phase = phase_});
}

void Transformer::prepare_angles(uint64_t first, int64_t rows)
{
    if (positions_ == PositionMode::Contiguous) return;
    const std::vector<float> table = angles_.table(static_cast<int64_t>(first), rows);
    model_.backend().upload(rope_.data(), table.data(), table.size() * sizeof(float));
    rope_rows_ = rows;
}

kernels::Rotation Transformer::rotation(int64_t row) const
{
    const int64_t skip = positions_ == PositionMode::Original ? row : 0;
    return {{rope_.data<float>() + skip * angles_.rotary_dim(), rope_rows_ - skip, angles_.rotary_dim()},
            positions_ == PositionMode::Original};
}

kernels::SignalRequest Transformer::request(int32_t layer) const
{
    // "all" is the same number on both sides
    return {.rows = signals_.window, .sums = sums_of(layer), .stride = ranks_};
}

float* Transformer::sums_of(int32_t layer) const
{
    if (!signals_.any()) return nullptr;
    return sums_.data<float>() + int64_t{layer} * shape_.kv_heads * ranks_;
}

void Transformer::last_logits(std::vector<float>& logits)
{
    compute_logits(rows_ - 1, 1, phase_, logits);
}

void Transformer::logits(int64_t begin, int64_t count, std::vector<float>& logits)
{
    compute_logits(begin, count, kernels::Phase::Prefill, logits);
}

void Transformer::compute_logits(int64_t begin, int64_t count, kernels::Phase phase, std::vector<float>& logits)
{
    const ModelConfig& c = model_.config();
    logits.resize(static_cast<size_t>(count * c.vocabulary));
    const int64_t at_once = static_cast<int64_t>(logits_.bytes() / sizeof(float)) / c.vocabulary;
    for (int64_t done = 0; done < count; done += at_once) {
        const int64_t rows = std::min(at_once, count - done);
        model_.backend().linear({.x = x_.data<float>() + (begin + done) * c.dim,
                                 .rows = rows,
                                 .norm = {model_.output_norm(), c.rms_epsilon},
                                 .weight = &model_.output(),
                                 .y = logits_.data<float>(),
                                 .phase = phase});
        model_.backend().download(logits.data() + done * c.vocabulary, logits_.data(),
                                  static_cast<size_t>(rows * c.vocabulary) * sizeof(float));
    }
}

size_t Transformer::allocated_bytes() const
{
    return x_.bytes() + qkv_.bytes() + heads_.bytes() + sums_.bytes() + rope_.bytes() + logits_.bytes();
}

} // namespace palimpsest::engine
