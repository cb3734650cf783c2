// Scaled rotary embeddings, expressed as divisors of the inverse frequencies (RopePlan::factors).
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

// Frequencies with fewer than `low_freq_factor` rotations in the original context are divided by `factor`, those
// with more than `high_freq_factor` are kept, those between are interpolated (the scaling of Llama 3.1). REQUIRES:
// low_freq_factor < high_freq_factor.
std::vector<float> llama3_rope_factors(int32_t rotary_dim, double rope_base, const Llama3Scaling& scaling);

struct YarnScaling {
    double factor = 4.0;
    double original_context = 4096.0;         // tokens
    double beta_fast = 32.0, beta_slow = 1.0; // rotations in the original context
    bool truncates = true;                    // rounds the indices of both frequencies outwards
};

// Frequencies with more than beta_fast rotations are kept, those with fewer than beta_slow are divided by `factor`,
// those between are interpolated (YaRN, Peng et al. 2023, section 3.2). REQUIRES: rope_base > 1.
std::vector<float> yarn_rope_factors(int32_t rotary_dim, double rope_base, const YarnScaling& scaling);
// The factor that multiplies cosines and sines (YaRN, section 3.4): 0.1 * weight * ln(factor) + 1, or 1 if there is
// no extension (factor <= 1).
double yarn_attention_factor(double factor, double weight = 1.0);

// The factor that multiplies cosines and sines in LongRoPE (Ding et al. 2024), for a context extended by `factor`.
double longrope_attention_factor(double factor, double original_context);

} // namespace palimpsest::engine
