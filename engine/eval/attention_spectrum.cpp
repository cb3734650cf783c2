#include "engine/eval/attention_spectrum.h"

#include <cassert>

#include "kernels/base/convert.h"

namespace palimpsest::engine {
namespace {

// The attention of one row in every list: [tokens, group].
using RowAttention = std::vector<std::vector<double>>;

void record_heads(const Selection& seen, RowAttention& attention)
{
    const size_t first = static_cast<size_t>(seen.layer) * seen.lists.size();
    for (size_t h = 0; h < seen.lists.size(); ++h) {
        const std::span<const double> moments = seen.lists[h].moments; // with the sum of squares after each
        std::vector<double>& row = attention[first + h];
        row.clear();
        for (size_t i = 0; i < moments.size(); i += 2)
            row.push_back(moments[i]);
    }
}

std::vector<float> values_of(const ListAtRest& list, kernels::DType type, int32_t head_dim)
{
    std::vector<float> values(list.tokens.size() * static_cast<size_t>(head_dim));
    kernels::to_f32(type, list.values.data(), values.data(), std::ssize(values));
    return values;
}

// The values of a list, [tokens, head_dim], each times the attention of one head of the group.
std::vector<double> weighted(std::span<const float> values, size_t head_dim, std::span<const double> attention,
                             size_t head, size_t group)
{
    std::vector<double> signals(values.size());
    for (size_t i = 0; i < values.size(); ++i)
        signals[i] = attention[i / head_dim * group + head] * static_cast<double>(values[i]);
    return signals;
}

void add_scaled(const std::vector<double>& from, double weight, std::vector<double>& sum)
{
    sum.resize(from.size());
    for (size_t i = 0; i < from.size(); ++i)
        sum[i] += weight * from[i];
}

} // namespace

void add(const HaarMagnitudes& other, double weight, HaarMagnitudes& sum)
{
    sum.details.resize(other.details.size());
    for (size_t l = 0; l < other.details.size(); ++l)
        add_scaled(other.details[l], weight, sum.details[l]);
    add_scaled(other.approximation, weight, sum.approximation);
}

std::optional<std::vector<HaarMagnitudes>> attention_spectrum(Session& full, std::span<const TokenId> text,
                                                              int levels, const FeedOptions& options)
{
    const ModelConfig& model = full.model().config();
    RowAttention attention(static_cast<size_t>(model.layers * model.kv_heads));
    full.set_observer([&](const Selection& seen) { record_heads(seen, attention); });
    const bool is_read = full.feed(text, options) && full.finish(options);
    full.set_observer({});
    if (!is_read) return std::nullopt;
    const SessionState state = full.state();
    const auto group = static_cast<size_t>(model.heads / model.kv_heads);
    std::vector<HaarMagnitudes> layers(static_cast<size_t>(model.layers));
    for (size_t i = 0; i < state.lists.size(); ++i) {
        const std::vector<float> values = values_of(state.lists[i], state.kv_type, model.head_dim);
        for (size_t g = 0; g < group; ++g)
            add(haar_magnitudes(weighted(values, static_cast<size_t>(model.head_dim), attention[i], g, group),
                                model.head_dim, levels),
                1.0 / static_cast<double>(model.heads), layers[i / static_cast<size_t>(model.kv_heads)]);
    }
    return layers;
}

} // namespace palimpsest::engine
