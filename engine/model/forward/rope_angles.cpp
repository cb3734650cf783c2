#include "engine/model/forward/rope_angles.h"

#include <cmath>

namespace palimpsest::engine {

const std::vector<float>& rope_factors_within(const ModelConfig& config, const RopePlan& plan, int64_t reach)
{
    return !plan.long_factors.empty() && reach > config.original_context ? plan.long_factors : plan.factors;
}

RopeAngles::RopeAngles(const ModelConfig& config, const RopePlan& plan, int64_t reach)
{
    const int32_t half = config.rotary_dim / 2;
    const std::vector<float>& factors = rope_factors_within(config, plan, reach);
    for (int32_t i = 0; i < half; ++i) {
        const float exponent = static_cast<float>(2 * i) / static_cast<float>(config.rotary_dim);
        float frequency = 1.0f / std::pow(plan.base, exponent);
        if (!factors.empty()) frequency /= factors[static_cast<size_t>(i)];
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

LayerAngles::LayerAngles(const ModelConfig& config, int64_t reach) : sets_{RopeAngles(config, config.rope, reach)}
{
    bool any_local = false;
    for (const LayerPlan& layer : config.plans)
        any_local = any_local || layer.local_rope;
    if (!any_local) return;
    sets_.emplace_back(config, config.local_rope, reach);
    for (const LayerPlan& layer : config.plans)
        of_layer_.push_back(layer.local_rope ? 1 : 0);
}

} // namespace palimpsest::engine
