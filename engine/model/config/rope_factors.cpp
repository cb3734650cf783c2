#include "engine/model/config/rope_factors.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace palimpsest::engine {

std::vector<float> linear_rope_factors(int32_t rotary_dim, double factor)
{
    return std::vector<float>(static_cast<size_t>(rotary_dim / 2), static_cast<float>(factor));
}

std::vector<float> llama3_rope_factors(int32_t rotary_dim, double rope_base, const Llama3Scaling& s)
{
    std::vector<float> factors(static_cast<size_t>(rotary_dim / 2));
    for (size_t i = 0; i < factors.size(); ++i) {
        const double frequency = std::pow(rope_base, -2.0 * static_cast<double>(i) / rotary_dim);
        const double turns = s.original_context * frequency / (2.0 * std::numbers::pi);
        const double kept =
            std::clamp((turns - s.low_freq_factor) / (s.high_freq_factor - s.low_freq_factor), 0.0, 1.0);
        factors[i] = static_cast<float>(1.0 / ((1.0 - kept) / s.factor + kept));
    }
    return factors;
}

std::vector<float> yarn_rope_factors(int32_t rotary_dim, double rope_base, const YarnScaling& s)
{
    // The index, not rounded, of the frequency that makes `turns` rotations in the original context.
    const auto dimension = [&](double turns) {
        return rotary_dim * std::log(s.original_context / (turns * 2.0 * std::numbers::pi)) /
               (2.0 * std::log(rope_base));
    };
    double low = dimension(s.beta_fast), high = dimension(s.beta_slow);
    if (s.truncates) low = std::floor(low), high = std::ceil(high);
    low = std::max(low, 0.0);
    high = std::min(high, rotary_dim - 1.0);
    if (low == high) high += 0.001;
    std::vector<float> factors(static_cast<size_t>(rotary_dim / 2));
    for (size_t i = 0; i < factors.size(); ++i) {
        const double divided = std::clamp((static_cast<double>(i) - low) / (high - low), 0.0, 1.0);
        factors[i] = static_cast<float>(1.0 / (divided / s.factor + (1.0 - divided)));
    }
    return factors;
}

double yarn_attention_factor(double factor, double weight)
{
    return factor <= 1.0 ? 1.0 : 0.1 * weight * std::log(factor) + 1.0;
}

double longrope_attention_factor(double factor, double original_context)
{
    if (factor <= 1.0 || original_context <= 1.0) return 1.0;
    return std::sqrt(1.0 + std::log(factor) / std::log(original_context));
}

} // namespace palimpsest::engine
