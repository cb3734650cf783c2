#include "engine/model/rope_factors.h"

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

} // namespace palimpsest::engine
