// Scaled rotary embeddings as divisors of the inverse frequencies (RopePlan::factors).
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

struct YarnScaling {
    double factor = 4.0;
    double original_context = 4096.0;         // tokens
    double beta_fast = 32.0, beta_slow = 1.0; // turns in the original context
    bool truncates = true;                    // the range between them, to whole dimensions
};

// Frequencies of more than beta_fast turns stay, those of fewer than beta_slow are divided by `factor`, those
// between are interpolated (YaRN, Peng et al. 2023, section 3.2). REQUIRES: rope_base > 1.
std::vector<float> yarn_rope_factors(int32_t rotary_dim, double rope_base, const YarnScaling& scaling);
// What cosines and sines are multiplied by: 0.1 weight ln(factor) + 1 (section 3.4).
double yarn_attention_factor(double factor, double weight = 1.0);

// The same of LongRoPE (Ding et al. 2024), whose context was stretched by `factor`.
double longrope_attention_factor(double factor, double original_context);

} // namespace palimpsest::engine
