#include "engine/model/forward/signal_buffers.h"

#include <cassert>

namespace palimpsest::engine {

static_assert(SignalNeeds::all == kernels::SignalRequest::all);

float*& needed_columns(const SignalNeeds& needs, kernels::SignalRequest& request)
{
    if (needs.low_counts) return request.low_counts;
    if (needs.key_norms) return request.key_norms;
    return needs.key_similarities ? request.key_similarities : request.sums;
}

SignalBuffers::SignalBuffers(const SignalNeeds& needs, const kernels::HeadShape& shape, int32_t layers,
                             int64_t ranks, kernels::Backend& backend)
    : needs_(needs), kv_heads_(shape.kv_heads), query_heads_(shape.query_heads), layers_(layers), stride_(ranks)
{
    if (!needs_.any()) return;
    layer_floats_ = kv_heads_ * stride_;
    if (needs_.head_moments) layer_floats_ += 2 * query_heads_ * stride_;
    if (needs_.entropies) layer_floats_ += kv_heads_ * stride_;
    if (needs_.row_statistic != kernels::RowStatistic::None) layer_floats_ += query_heads_;
    memory_ = kernels::Buffer(backend, static_cast<size_t>(layers_ * layer_floats_) * sizeof(float));
}

kernels::SignalRequest SignalBuffers::request(int32_t layer, int64_t ranks, int32_t rows) const
{
    float* next = memory_.data<float>() + layer % layers_ * layer_floats_;
    return request(ranks, rows, next, stride_);
}

kernels::SignalRequest SignalBuffers::request(int64_t ranks, int32_t rows, float*& next, int64_t stride) const
{
    if (!needs_.any()) return {};
    assert(stride <= stride_);
    kernels::SignalRequest wanted{.rows = needs_.window_of(static_cast<size_t>(ranks)),
                                  .outside_newest = needs_.outside_newest,
                                  .stride = stride};
    const auto take = [&next](int64_t floats) {
        float* taken = next;
        next += floats;
        return taken;
    };
    needed_columns(needs_, wanted) = take(kv_heads_ * stride);
    if (needs_.head_moments) {
        wanted.head_sums = take(query_heads_ * stride);
        wanted.head_squares = take(query_heads_ * stride);
    }
    if (rows < needs_.statistics_rows) return wanted;
    if (needs_.entropies) wanted.entropies = take(kv_heads_ * stride);
    if (needs_.row_statistic != kernels::RowStatistic::None) {
        wanted.row_statistic = needs_.row_statistic;
        wanted.row_statistics = take(query_heads_);
    }
    return wanted;
}

} // namespace palimpsest::engine
