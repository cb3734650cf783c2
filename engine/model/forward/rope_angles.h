// The rotary angles of a model, computed as in the transformers library: inverse frequencies and angles in f32
// (angle = position * inverse frequency), then cosine and sine.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/model/config/model_config.h"

namespace palimpsest::engine {

class RopeAngles {
public:
    // Angles of the layers that use this plan; positions stay below `reach`.
    RopeAngles(const ModelConfig& config, const RopePlan& plan, int64_t reach);

    int32_t rotary_dim() const { return static_cast<int32_t>(inverse_frequencies_.size()) * 2; }
    // Rows of kernels::RopeTable for positions first, first + 1, ...: [count, rotary_dim].
    std::vector<float> table(int64_t first, int64_t count) const;

private:
    std::vector<float> inverse_frequencies_; // [rotary_dim / 2]
};

// The divisors that apply if positions stay below `reach`; empty: none.
const std::vector<float>& rope_factors_within(const ModelConfig& config, const RopePlan& plan, int64_t reach);

// The angles of all layers: one set, or two if some layers use local_rope.
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
    std::vector<size_t> of_layer_; // [layers] index into sets_, or empty: all layers use the first set
};

} // namespace palimpsest::engine
