// Rules that a configuration obeys whether it came from GGUF metadata or from config.json (G12, C3..C5).
#pragma once

#include <string>
#include <string_view>

#include "engine/model/model_config.h"
#include "engine/model/refusal.h"

namespace palimpsest::engine {

// The rules' names in the source's own numbering.
struct ConfigRules {
    std::string_view sizes, relations, floats; // "C3", "C4", "C5"; "12" three times for GGUF
};

// `number` as an int32 if it is within 1..limit.
int32_t checked_size(uint64_t number, uint64_t limit, const std::string& name, const Refusal& refuse,
                     std::string_view rule);

// The trained context: 0 is refused, more than we can count is clamped, since nothing is allocated from it.
int32_t checked_context(uint64_t tokens, const std::string& name, const Refusal& refuse, std::string_view rule);

// Whether rotary frequencies can be computed from this base: 1 to limits::rope_base, and no NaN.
bool is_rope_base(double base);
std::string rope_base_limit(); // "1e+12"

// heads % kv_heads, the rotary part, epsilon, rope base and factors. Sizes must have passed checked_size.
void check_config(const ModelConfig& config, const Refusal& refuse, const ConfigRules& rules);

// The head size where none is given.
int32_t derived_head_dim(int32_t dim, int32_t heads, const Refusal& refuse, std::string_view rule);

} // namespace palimpsest::engine
