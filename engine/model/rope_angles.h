// The rotary angles of a model, made as the reference implementations make them: inverse frequencies and angles in
// f32 (angle = position * inverse frequency), then cosine and sine.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/model/model_config.h"

namespace palimpsest::engine {

class RopeAngles {
public:
    // Of the layers with this plan, where positions stay below `reach`.
    RopeAngles(const ModelConfig& config, const RopePlan& plan, int64_t reach);

    int32_t rotary_dim() const { return static_cast<int32_t>(inverse_frequencies_.size()) * 2; }
    // Rows of kernels::RopeTable for positions first, first + 1, ...: [count, rotary_dim].
    std::vector<float> table(int64_t first, int64_t count) const;

private:
    std::vector<float> inverse_frequencies_; // [rotary_dim / 2]
};

// The divisors that hold where positions stay below `reach`; empty: none.
const std::vector<float>& rope_factors_within(const ModelConfig& config, const RopePlan& plan, int64_t reach);

// The angles of all layers of a model: of one plan, or of two.
class LayerAngles {
public:
    LayerAngles(const ModelConfig& config, int64_t reach);

    size_t count() const { return sets_.size(); }
    const RopeAngles& set(size_t index) const { return sets_[index]; }
    size_t index(int32_t layer) const { return of_layer_.empty() ? 0 : of_layer_[static_cast<size_t>(layer)]; }
    const RopeAngles& of(int32_t layer) const { return sets_[index(layer)]; }
    int32_t rotary_dim() const { return sets_.front().rotary_dim(); }

private:
    std::vector<RopeAngles> sets_;
    std::vector<size_t> of_layer_; // [layers], or empty: the first of all
};

} // namespace palimpsest::engine
