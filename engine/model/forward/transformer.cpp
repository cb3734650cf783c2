#include "engine/model/forward/transformer.h"

#include <algorithm>
#include <cassert>
#include <numeric>

namespace palimpsest::engine {
namespace {

constexpr int64_t logit_rows = 64; // rows per product with the output matrix

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

Transformer::Transformer(const Model& model, const TransformerShape& shape)
    : model_(&model), shape_(model.head_shape()), angles_(model.config(), shape.reach), made_for_(shape),
      signals_(shape.signals, model.head_shape(),
               shape.layers_first || shape.resident || model.backend().selects() ? model.config().layers : 1,
               shape.max_ranks, model.backend()),
      inputs_(model.config().layers, model.head_shape().kv_heads),
      token_(model.config().vocabulary, int64_t{model.config().layers} * model.head_shape().kv_heads)
{
    const ModelConfig& c = model.config();
    kernels::Backend& backend = model.backend();
    const auto rows = static_cast<size_t>(shape.max_rows);
    x_ = kernels::Buffer(backend, rows * static_cast<size_t>(c.dim) * sizeof(float));
    qkv_ = kernels::Buffer(backend, rows * static_cast<size_t>(shape_.qkv_width()) * sizeof(float));
    heads_ = kernels::Buffer(backend, rows * static_cast<size_t>(c.heads * c.head_dim) * sizeof(float));
    const bool contiguous = shape.positions == PositionMode::Contiguous;
    const int64_t positions_at_once = contiguous ? shape.max_ranks : shape.max_rows;
    const int64_t floats = static_cast<int64_t>(angles_.count()) * positions_at_once * c.rotary_dim;
    rope_ = kernels::Buffer(backend, static_cast<size_t>(floats) * sizeof(float));
    if (contiguous) send_angles(0, positions_at_once);
    logits_ = kernels::Buffer(
        backend, static_cast<size_t>(std::min<int64_t>(logit_rows, shape.max_rows) * c.vocabulary) * sizeof(float));
    if (shape.resident) {
        const int64_t words_of_list = 16 + 3 * int64_t{shape.max_dropped_per_token}; // upper bound per list
        inputs_.reserve(words_of_list * shape_.kv_heads, backend);
    }
    if (backend.selects()) token_.fit(shape.resident ? shape.max_dropped_per_token : 1, backend);
    if (!shape.retrieval) return;
    int32_t layers = 0;
    for (int32_t l = 0; l < c.layers; ++l)
        retrieving_.push_back(shape.retrieval->reads_part_of(l) ? layers++ : -1);
    bounds_ = kernels::Buffer(backend, static_cast<size_t>(layers * floats_of_bounds()) * sizeof(float));
}

bool Transformer::prefill(std::span<const TokenId> tokens, std::span<const int32_t> chunk_rows, uint64_t first,
                          std::span<const TokenId> question, KvCache& cache, LayerEviction& eviction,
                          const std::stop_token& stop)
{
    assert(std::accumulate(chunk_rows.begin(), chunk_rows.end(), int64_t{0}) == std::ssize(tokens));
    const bool layers_first = made_for_.layers_first;
    assert(!layers_first || chunk_rows.size() == 1);
    cache.defragment();
    const std::span<const TokenId> rows = layout_rows(tokens, chunk_rows, question);
    prepare_angles(first, std::ssize(tokens) + question_rows_);

    const int32_t layers = model_->config().layers;
    attended_.clear();
    {
        const StopScope stoppable(model_->backend(), layers_first ? stop : std::stop_token());
        signals_.restart();
        embed(rows, nullptr);
        for (int32_t l = 0; l < layers && !(layers_first && stop.stop_requested()); ++l) {
            project_qkv(l);
            for (size_t i = 0; i < chunks_.size(); ++i) {
                if (!layers_first) signals_.restart();
                attended_.push_back(attend_chunk(l, chunks_[i], first, cache));
                if (!layers_first) evict(static_cast<int32_t>(i), cache, eviction);
            }
            finish_layer(l);
        }
    }
    if (!layers_first) return true;
    // A stop during the scope above may have ended any operation early, even the last one.
    if (std::ssize(attended_) < layers || stop.stop_requested()) return false;
    evict(0, cache, eviction);
    return true;
}

// Lays out the rows of a super-chunk: each chunk's tokens, followed by the question rows.
std::span<const TokenId> Transformer::layout_rows(std::span<const TokenId> tokens,
                                                  std::span<const int32_t> chunk_rows,
                                                  std::span<const TokenId> question)
{
    phase_ = kernels::Phase::Prefill;
    token_.forget();
    question_rows_ = static_cast<int32_t>(question.size());
    chunks_.clear();
    with_question_.clear();
    Chunk next;
    for (const int32_t count : chunk_rows) {
        next.tokens = count;
        chunks_.push_back(next);
        if (!question.empty()) {
            const auto own = tokens.subspan(static_cast<size_t>(next.token), static_cast<size_t>(count));
            with_question_.insert(with_question_.end(), own.begin(), own.end());
            with_question_.insert(with_question_.end(), question.begin(), question.end());
        }
        next.row += count + question_rows_;
        next.token += count;
    }
    rows_ = next.row;
    return question.empty() ? tokens : std::span<const TokenId>(with_question_);
}

void Transformer::decode(TokenId token, uint64_t index, KvCache& cache, LayerEviction& eviction)
{
    constexpr int32_t defragment_threshold = 64; // docs/performance.md
    if (cache.displaced() >= defragment_threshold) cache.defragment();
    cache.reserve_token();
    rows_ = 1;
    question_rows_ = 0;
    phase_ = kernels::Phase::Decode;
    token_.forget();
    prepare_angles(index, 1);
    if (!eviction.plans().empty()) return decode_on_device(token, index, cache, eviction);

    // To download signals, the host must wait: all layers are queued first, so that it waits once per token.
    const bool layers_first = made_for_.couples_layers || downloads_signals();
    attended_.clear();
    signals_.restart();
    embed({&token, 1}, nullptr);
    for (int32_t l = 0; l < model_->config().layers; ++l) {
        project_qkv(l);
        attended_.push_back(attend_token(l, index, cache));
        if (!layers_first) {
            evict(0, cache, eviction);
            signals_.restart();
        }
        finish_layer(l);
    }
    if (!layers_first) return;
    if (downloads_signals()) queue_logits();
    evict(0, cache, eviction);
}

AttendedLayer Transformer::attend_chunk(int32_t layer, const Chunk& chunk, uint64_t first, KvCache& cache)
{
    kernels::Backend& backend = model_->backend();
    const float* qkv = qkv_.data<float>() + chunk.row * shape_.qkv_width();
    const kernels::Rotation rotated = rotation(layer, chunk.token);
    const int32_t rows = chunk.tokens + question_rows_;
    const kernels::SignalRequest wanted = signals_of(layer, rows, cache);
    backend.stage(
        {.shape = shape_, .qkv = qkv, .rows = rows, .staging = cache.staging(layer), .rotation = rotated});
    backend.attend({.shape = shape_,
                    .qkv = qkv,
                    .rows = rows,
                    .pool = cache.pool(),
                    .lists = cache.lists(layer),
                    .staging = cache.staging(layer),
                    .rotation = rotated,
                    .out = heads_.data<float>() + chunk.row * shape_.query_heads * shape_.head_dim,
                    .signals = wanted,
                    .window = window(layer)});
    return {.layer = layer,
            .first = static_cast<uint32_t>(first + static_cast<uint64_t>(chunk.token)),
            .rows = chunk.tokens,
            .question_rows = question_rows_,
            .signals = wanted};
}

AttendedLayer Transformer::attend_token(int32_t layer, uint64_t index, KvCache& cache)
{
    const kernels::SignalRequest wanted = signals_of(layer, 1, cache);
    model_->backend().decode_attend({.shape = shape_,
                                     .qkv = qkv_.data<float>(),
                                     .pool = cache.pool(),
                                     .lists = cache.lists(layer),
                                     .rotation = rotation(layer, 0),
                                     .out = heads_.data<float>(),
                                     .signals = wanted,
                                     .retrieval = retrieval_of(layer),
                                     .window = window(layer)});
    return {.layer = layer, .first = static_cast<uint32_t>(index), .rows = 1, .signals = wanted};
}

void Transformer::evict(int32_t chunk, KvCache& cache, LayerEviction& eviction)
{
    old_lengths_.clear(); // one per layer: lists of layers with a window are shorter
    for (const AttendedLayer& attended : attended_)
        old_lengths_.push_back(cache.used(attended.layer, 0));
    eviction.evict(attended_, chunk, phase_);
    for (size_t i = 0; i < attended_.size(); ++i)
        bound_new_pages(attended_[i].layer, old_lengths_[i], cache);
    attended_.clear();
}

int64_t Transformer::pages_of_bounds() const
{
    const int64_t page = made_for_.retrieval->page;
    return (made_for_.max_ranks + page - 1) / page;
}

int64_t Transformer::floats_of_bounds() const
{
    return int64_t{shape_.kv_heads} * pages_of_bounds() * 2 * shape_.head_dim;
}

bool Transformer::retrieves(int32_t layer) const
{
    return !retrieving_.empty() && retrieving_[static_cast<size_t>(layer)] >= 0;
}

kernels::PageBounds Transformer::bounds_of(int32_t layer) const
{
    return {.bounds = bounds_.data<float>() + retrieving_[static_cast<size_t>(layer)] * floats_of_bounds(),
            .page_stride = pages_of_bounds(),
            .page = made_for_.retrieval->page};
}

kernels::PageRetrieval Transformer::retrieval_of(int32_t layer) const
{
    if (!retrieves(layer)) return {};
    const Retrieval& how = *made_for_.retrieval;
    return {.pages = bounds_of(layer), .tokens = how.tokens, .max_pages = how.max_pages(), .top_p = how.top_p};
}

// Updates the bounds of the retrieval pages from rank `first` on. In decode, does so only once the last page is
// full: no other page changes, and its bounds are not read before.
void Transformer::bound_new_pages(int32_t layer, int64_t first, KvCache& cache)
{
    if (!retrieves(layer)) return;
    const bool finished = cache.used(layer, 0) % made_for_.retrieval->page == 0;
    if (phase_ == kernels::Phase::Prefill || finished) bound_pages_from(layer, first, cache);
}

void Transformer::bound_pages_from(int32_t layer, int64_t first, KvCache& cache)
{
    model_->backend().bound_pages({.shape = shape_,
                                   .pool = cache.pool(),
                                   .lists = cache.lists(layer),
                                   .rotation = rotation(layer, 0),
                                   .first = first,
                                   .pages = bounds_of(layer)});
}

void Transformer::bound_pages(KvCache& cache)
{
    cache.defragment();
    for (int32_t l = 0; l < model_->config().layers; ++l)
        if (retrieves(l)) bound_pages_from(l, 0, cache);
}

void Transformer::embed(std::span<const TokenId> ids, const int32_t* device_id)
{
    model_->backend().embed({.table = &model_->embedding(),
                             .ids = ids,
                             .device_id = device_id,
                             .y = x_.data<float>(),
                             .factor = model_->config().embedding_factor});
}

void Transformer::project_qkv(int32_t layer)
{
    const LayerWeights& w = model_->layer(layer);
    model_->backend().linear({.x = x_.data<float>(),
                              .rows = rows_,
                              .norm = {w.attention_norm.data<float>(), model_->config().rms_epsilon},
                              .weight = w.qkv.get(),
                              .bias = w.qkv_bias.data<float>(),
                              .y = qkv_.data<float>(),
                              .phase = phase_});
    prepare_heads(layer);
}

void Transformer::prepare_heads(int32_t layer)
{
    const ModelConfig& c = model_->config();
    const LayerWeights& w = model_->layer(layer);
    const float factor = c.rope_of(layer).attention_factor;
    if (c.head_norm == HeadNorm::None && factor == 1.0f) return;
    model_->backend().prepare_heads({.shape = shape_,
                                     .qkv = qkv_.data<float>(),
                                     .rows = static_cast<int32_t>(rows_),
                                     .query_norm = {w.query_norm.data<float>(), c.rms_epsilon},
                                     .key_norm = {w.key_norm.data<float>(), c.rms_epsilon},
                                     .across_heads = c.head_norm == HeadNorm::AcrossHeads,
                                     .query_factor = factor * factor,
                                     .query_factor_dims = c.rotary_dim});
}

int32_t Transformer::window(int32_t layer) const
{
    return model_->config().plan(layer).window;
}

bool Transformer::watches(int32_t layer) const
{
    return made_for_.layers_without_signals.empty() ||
           !made_for_.layers_without_signals[static_cast<size_t>(layer)];
}

bool Transformer::downloads_signals() const
{
    return model_->backend().selects() && !made_for_.resident;
}

kernels::SignalRequest Transformer::signals_of(int32_t layer, int32_t rows, const KvCache& cache)
{
    if (!watches(layer)) return {};
    const int64_t ranks = int64_t{cache.used(layer, 0)} + rows;
    if (made_for_.resident) return signals_.request(layer, ranks, rows);
    int64_t longest = 0;
    for (int32_t h = 0; h < shape_.kv_heads; ++h)
        longest = std::max<int64_t>(longest, cache.used(layer, h));
    return signals_.request_close(ranks, rows, longest + rows);
}

void Transformer::finish_layer(int32_t layer)
{
    const ModelConfig& c = model_->config();
    const LayerWeights& w = model_->layer(layer);
    model_->backend().linear(
        {.x = heads_.data<float>(),
         .rows = rows_,
         .norm = {},
         .weight = w.output.get(),
         .bias = nullptr,
         .y = x_.data<float>(),
         .accumulate = true,
         .phase = phase_,
         .finish = {.norm = {w.post_attention_norm.data<float>(), c.rms_epsilon}, .factor = c.residual_factor}});
    feed_forward(layer);
}

void Transformer::feed_forward(int32_t layer)
{
    const ModelConfig& c = model_->config();
    const LayerWeights& w = model_->layer(layer);
    const kernels::RmsNorm norm = {w.ffn_norm.data<float>(), c.rms_epsilon};
    if (c.experts.count > 0) {
        model_->backend().experts({.x = x_.data<float>(),
                                   .rows = rows_,
                                   .norm = norm,
                                   .router = w.router.get(),
                                   .gate_up = w.expert_gate_up,
                                   .down = w.expert_down,
                                   .used = c.experts.used,
                                   .renormalise = c.experts.renormalise,
                                   .factor = c.residual_factor,
                                   .phase = phase_,
                                   .activation = c.activation});
        return;
    }
    model_->backend().feed_forward(
        {.x = x_.data<float>(),
         .rows = rows_,
         .norm = norm,
         .gate_up = w.gate_up.get(),
         .down = w.down.get(),
         .phase = phase_,
         .activation = c.activation,
         .finish = {.norm = {w.post_ffn_norm.data<float>(), c.rms_epsilon}, .factor = c.residual_factor}});
}

kernels::LinearArgs Transformer::logits_args(const float* x, int64_t rows, kernels::Phase phase,
                                             float* logits) const
{
    const ModelConfig& c = model_->config();
    return {.x = x,
            .rows = rows,
            .norm = {model_->output_norm(), c.rms_epsilon},
            .weight = &model_->output(),
            .y = logits,
            .phase = phase,
            .finish = {.factor = c.logit_factor, .soft_cap = c.logit_soft_cap}};
}

void Transformer::prepare_angles(uint64_t first, int64_t positions)
{
    if (made_for_.positions == PositionMode::Original) send_angles(static_cast<int64_t>(first), positions);
}

void Transformer::send_angles(int64_t first, int64_t positions)
{
    rope_rows_ = positions;
    for (size_t i = 0; i < angles_.count(); ++i) {
        const std::vector<float> table = angles_.set(i).table(first, positions);
        model_->backend().upload(rope_.data<float>() + static_cast<int64_t>(i) * floats_of_angles(), table.data(),
                                 table.size() * sizeof(float));
    }
}

int64_t Transformer::floats_of_angles() const
{
    return static_cast<int64_t>(rope_.bytes() / sizeof(float) / angles_.count());
}

kernels::Rotation Transformer::rotation(int32_t layer, int64_t token) const
{
    const bool original = made_for_.positions == PositionMode::Original;
    const int64_t skip = original ? token : 0;
    const float* table = rope_.data<float>() + static_cast<int64_t>(angles_.index(layer)) * floats_of_angles();
    return {{table + skip * angles_.rotary_dim(), rope_rows_ - skip, angles_.rotary_dim()}, original};
}

void Transformer::last_logits(std::vector<float>& logits)
{
    logits.resize(static_cast<size_t>(model_->config().vocabulary));
    if (token_.is_queued()) {
        token_.read_logits(model_->backend(), logits);
        return;
    }
    compute_logits(rows_ - question_rows_ - 1, 1, phase_, logits.data());
}

void Transformer::logits(int64_t begin, int64_t count, std::vector<float>& logits)
{
    const int64_t vocabulary = model_->config().vocabulary;
    logits.resize(static_cast<size_t>(count * vocabulary));
    for (const Chunk& chunk : chunks_) {
        const int64_t from = std::max(begin, chunk.token);
        const int64_t to = std::min(begin + count, chunk.token + chunk.tokens);
        if (from < to)
            compute_logits(chunk.row + from - chunk.token, to - from, kernels::Phase::Prefill,
                           logits.data() + (from - begin) * vocabulary);
    }
}

void Transformer::compute_logits(int64_t row, int64_t count, kernels::Phase phase, float* logits)
{
    const ModelConfig& c = model_->config();
    const int64_t at_once = static_cast<int64_t>(logits_.bytes() / sizeof(float)) / c.vocabulary;
    for (int64_t done = 0; done < count; done += at_once) {
        const int64_t rows = std::min(at_once, count - done);
        model_->backend().linear(
            logits_args(x_.data<float>() + (row + done) * c.dim, rows, phase, logits_.data<float>()));
        model_->backend().download(logits + done * c.vocabulary, logits_.data(),
                                   static_cast<size_t>(rows * c.vocabulary) * sizeof(float));
    }
}

size_t Transformer::allocated_bytes() const
{
    return x_.bytes() + qkv_.bytes() + heads_.bytes() + signals_.allocated_bytes() + rope_.bytes() +
           logits_.bytes() + bounds_.bytes() + inputs_.allocated_bytes() + token_.allocated_bytes();
}

} // namespace palimpsest::engine
