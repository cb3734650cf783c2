#include "kernels/reference/reference_linear.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>

#include "kernels/base/convert.h"
#include "kernels/cpu/cpu_weight.h"

namespace palimpsest::kernels::reference {
namespace {

// x W^T for one row x.
std::vector<double> product(const std::vector<double>& x, const Weight& weight)
{
    std::vector<double> y(static_cast<size_t>(weight.rows()));
    for (size_t n = 0; n < y.size(); ++n) {
        const auto w = widened_row(weight, static_cast<int64_t>(n));
        for (size_t k = 0; k < w.size(); ++k)
            y[n] += x[k] * w[k];
    }
    return y;
}

std::span<const float> row_of(const float* x, int64_t r, int64_t cols)
{
    return {x + r * cols, static_cast<size_t>(cols)};
}

double activated(Activation activation, double g)
{
    if (activation == Activation::Silu) return g / (1.0 + std::exp(-g));
    const double u = std::sqrt(2.0 / std::numbers::pi) * (g + 0.044715 * g * g * g);
    return 0.5 * g * (1.0 + std::tanh(u));
}

// down(activation(g) * u) with (g, u) = x gate_up^T, for one row x.
std::vector<double> gated(const std::vector<double>& x, const Weight& gate_up, const Weight& down,
                          Activation activation)
{
    const auto ffn = static_cast<size_t>(down.cols());
    const auto both = product(x, gate_up);
    std::vector<double> hidden(ffn);
    for (size_t i = 0; i < ffn; ++i)
        hidden[i] = activated(activation, both[i]) * both[ffn + i];
    return product(hidden, down);
}

std::vector<double> normed(std::vector<double> y, const RmsNorm& norm)
{
    if (norm.weight == nullptr) return y;
    double squares = 0;
    for (const double v : y)
        squares += v * v;
    const double factor =
        1.0 / std::sqrt(squares / static_cast<double>(y.size()) + static_cast<double>(norm.epsilon));
    for (size_t i = 0; i < y.size(); ++i)
        y[i] *= factor * static_cast<double>(norm.weight[i]);
    return y;
}

std::vector<double> finished(const std::vector<double>& row, const RowFinish& finish)
{
    std::vector<double> y = normed(row, finish.norm);
    const auto cap = static_cast<double>(finish.soft_cap);
    for (double& v : y) {
        v *= static_cast<double>(finish.factor);
        if (cap > 0) v = cap * std::tanh(v / cap);
    }
    return y;
}

// The experts of a row by descending logit; ties: the lower number first.
std::vector<size_t> best_experts(const std::vector<double>& logits, size_t used)
{
    std::vector<size_t> numbers(logits.size());
    std::iota(numbers.begin(), numbers.end(), size_t{0});
    std::stable_sort(numbers.begin(), numbers.end(), [&](size_t a, size_t b) { return logits[a] > logits[b]; });
    numbers.resize(used);
    return numbers;
}

} // namespace

std::vector<double> widened_row(const Weight& weight, int64_t row)
{
    const auto [type, data] = cpu::on_cpu(&weight).row(row);
    std::vector<float> wide(static_cast<size_t>(weight.cols()));
    to_f32(type, data, wide.data(), weight.cols());
    return {wide.begin(), wide.end()};
}

std::vector<double> rms_norm(std::span<const float> x, const RmsNorm& norm)
{
    return normed({x.begin(), x.end()}, norm);
}

std::vector<double> embed(const EmbedArgs& args)
{
    std::vector<double> y;
    for (const int32_t id : args.ids) {
        const auto row = widened_row(*args.table, id);
        for (const double value : row)
            y.push_back(value * static_cast<double>(args.factor));
    }
    return y;
}

std::vector<double> linear(const LinearArgs& args)
{
    std::vector<double> y;
    for (int64_t r = 0; r < args.rows; ++r) {
        auto row = product(rms_norm(row_of(args.x, r, args.weight->cols()), args.norm), *args.weight);
        for (size_t n = 0; n < row.size() && args.bias; ++n)
            row[n] += static_cast<double>(args.bias[n]);
        for (const double value : finished(row, args.finish))
            y.push_back(value + (args.accumulate ? static_cast<double>(args.y[y.size()]) : 0.0));
    }
    return y;
}

std::vector<double> feed_forward(const FeedForwardArgs& args)
{
    std::vector<double> y;
    for (int64_t r = 0; r < args.rows; ++r) {
        const auto x = row_of(args.x, r, args.down->rows());
        const auto down =
            finished(gated(rms_norm(x, args.norm), *args.gate_up, *args.down, args.activation), args.finish);
        for (size_t i = 0; i < down.size(); ++i)
            y.push_back(static_cast<double>(x[i]) + down[i]);
    }
    return y;
}

std::vector<double> prepare_heads(const PrepareHeadsArgs& args)
{
    const auto dim = static_cast<size_t>(args.shape.head_dim);
    const auto of_queries = static_cast<size_t>(args.shape.query_heads) * dim,
               of_keys = static_cast<size_t>(args.shape.kv_heads) * dim;
    std::vector<double> y;
    for (int64_t r = 0; r < args.rows; ++r) {
        const auto row = row_of(args.qkv, r, args.shape.qkv_width());
        const auto add = [&](size_t first, size_t count, const RmsNorm& norm, double factor) {
            const size_t at_once = args.across_heads ? count : dim;
            for (size_t at = first; at < first + count; at += at_once) {
                const auto heads = rms_norm(row.subspan(at, at_once), norm);
                for (size_t i = 0; i < heads.size(); ++i)
                    y.push_back(heads[i] * (i % dim < static_cast<size_t>(args.query_factor_dims) ? factor : 1.0));
            }
        };
        add(0, of_queries, args.query_norm, static_cast<double>(args.query_factor));
        add(of_queries, of_keys, args.key_norm, 1.0);
        add(of_queries + of_keys, of_keys, {}, 1.0);
    }
    return y;
}

std::vector<double> experts(const ExpertsArgs& args)
{
    std::vector<double> y;
    for (int64_t r = 0; r < args.rows; ++r) {
        const auto x = row_of(args.x, r, args.router->cols());
        const auto input = rms_norm(x, args.norm);
        const auto logits = product(input, *args.router);
        const auto chosen = best_experts(logits, static_cast<size_t>(args.used));
        double all = 0, kept = 0;
        for (const double logit : logits)
            all += std::exp(logit);
        for (const size_t e : chosen)
            kept += std::exp(logits[e]);
        std::vector<double> row(x.begin(), x.end());
        for (const size_t e : chosen) {
            const double weight = std::exp(logits[e]) / (args.renormalise ? kept : all);
            const auto made = gated(input, *args.gate_up[e], *args.down[e], args.activation);
            for (size_t i = 0; i < row.size(); ++i)
                row[i] += static_cast<double>(args.factor) * weight * made[i];
        }
        y.insert(y.end(), row.begin(), row.end());
    }
    return y;
}

} // namespace palimpsest::kernels::reference
