// Scaled rotary embeddings as divisors of the inverse frequencies (ModelConfig::rope_factors).
#pragma once

#include <cstdint>
#include <vector>

namespace palimpsest::engine {

// Position interpolation (Chen et al. 2023, eq. 4): one factor for every frequency.
std::vector<float> linear_rope_factors(int32_t rotary_dim, double factor);

struct Llama3Scaling {
    double factor = 8.0;
    double low_freq_factor = 1.0;
    double high_freq_factor = 4.0;
    double original_context = 8192.0; // tokens
};

// Frequencies that turned fewer than `low_freq_factor` times in the original context are divided by `factor`, those
// that turned more than `high_freq_factor` times stay, those between are interpolated (the scaling of Llama 3.1).
// REQUIRES: low_freq_factor < high_freq_factor.
std::vector<float> llama3_rope_factors(int32_t rotary_dim, double rope_base, const Llama3Scaling& scaling);

} // namespace palimpsest::engine
