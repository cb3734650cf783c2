// The rotary angles of a model, made as the reference implementations make them: inverse frequencies and angles in
// f32 (angle = position * inverse frequency), then cosine and sine.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/model/model_config.h"

namespace palimpsest::engine {

class RopeAngles {
public:
    explicit RopeAngles(const ModelConfig& config);

    int32_t rotary_dim() const { return static_cast<int32_t>(inverse_frequencies_.size()) * 2; }
    // Rows of kernels::RopeTable for positions first, first + 1, ...: [count, rotary_dim].
    std::vector<float> table(int64_t first, int64_t count) const;

private:
    std::vector<float> inverse_frequencies_; // [rotary_dim / 2]
};

} // namespace palimpsest::engine
