#include "engine/model/rope_angles.h"

#include <cmath>

namespace palimpsest::engine {

RopeAngles::RopeAngles(const ModelConfig& config)
{
    const int32_t half = config.rotary_dim / 2;
    for (int32_t i = 0; i < half; ++i) {
        const float exponent = static_cast<float>(2 * i) / static_cast<float>(config.rotary_dim);
        float frequency = 1.0f / std::pow(config.rope_base, exponent);
        if (!config.rope_factors.empty()) frequency /= config.rope_factors[static_cast<size_t>(i)];
        inverse_frequencies_.push_back(frequency);
    }
}

std::vector<float> RopeAngles::table(int64_t first, int64_t count) const
{
    const size_t half = inverse_frequencies_.size();
    std::vector<float> rows(static_cast<size_t>(count) * 2 * half);
    for (size_t p = 0; p < static_cast<size_t>(count); ++p)
        for (size_t i = 0; i < half; ++i) {
            const float angle = static_cast<float>(first + static_cast<int64_t>(p)) * inverse_frequencies_[i];
            rows[p * 2 * half + i] = static_cast<float>(std::cos(static_cast<double>(angle)));
            rows[p * 2 * half + half + i] = static_cast<float>(std::sin(static_cast<double>(angle)));
        }
    return rows;
}

} // namespace palimpsest::engine
