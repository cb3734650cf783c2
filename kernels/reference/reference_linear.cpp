#include "kernels/reference/reference_linear.h"

#include <cmath>

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

double silu(double g)
{
    return g / (1.0 + std::exp(-g));
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
    std::vector<double> y(x.begin(), x.end());
    if (norm.weight == nullptr) return y;
    double squares = 0;
    for (const double v : y)
        squares += v * v;
    const double factor =
        1.0 / std::sqrt(squares / static_cast<double>(x.size()) + static_cast<double>(norm.epsilon));
    for (size_t i = 0; i < y.size(); ++i)
        y[i] *= factor * static_cast<double>(norm.weight[i]);
    return y;
}

std::vector<double> embed(const EmbedArgs& args)
{
    std::vector<double> y;
    for (const int32_t id : args.ids) {
        const auto row = widened_row(*args.table, id);
        y.insert(y.end(), row.begin(), row.end());
    }
    return y;
}

std::vector<double> linear(const LinearArgs& args)
{
    std::vector<double> y;
    for (int64_t r = 0; r < args.rows; ++r)
        for (const double value :
             product(rms_norm(row_of(args.x, r, args.weight->cols()), args.norm), *args.weight)) {
            const size_t at = y.size(), n = at % static_cast<size_t>(args.weight->rows());
            const double old = args.accumulate ? static_cast<double>(args.y[at]) : 0.0;
            y.push_back(old + value + (args.bias ? static_cast<double>(args.bias[n]) : 0.0));
        }
    return y;
}

std::vector<double> feed_forward(const FeedForwardArgs& args)
{
    std::vector<double> y;
    const auto ffn = static_cast<size_t>(args.down->cols());
    for (int64_t r = 0; r < args.rows; ++r) {
        const auto x = row_of(args.x, r, args.down->rows());
        const auto gate_up = product(rms_norm(x, args.norm), *args.gate_up);
        std::vector<double> hidden(ffn);
        for (size_t i = 0; i < ffn; ++i)
            hidden[i] = silu(gate_up[i]) * gate_up[ffn + i];
        const auto down = product(hidden, *args.down);
        for (size_t i = 0; i < down.size(); ++i)
            y.push_back(static_cast<double>(x[i]) + down[i]);
    }
    return y;
}

} // namespace palimpsest::kernels::reference
