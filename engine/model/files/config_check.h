// Rules for every configuration, from GGUF metadata or from config.json (docs/validation.md, G12 and C3 to C5).
#pragma once

#include <string>

#include "engine/model/config/model_config.h"
#include "engine/model/files/refusal.h"

namespace palimpsest::engine {

// The error codes to report, which depend on the format of the configuration.
struct ConfigRules {
    ErrorCode relations, floats; // config.json: ModelC4, ModelC5; GGUF: ModelG12 for both
};

// Returns `number` as an int32 if it is within 1..limit. `name` begins the message.
int32_t checked_size(uint64_t number, uint64_t limit, const Text& name, const Refusal& refuse, ErrorCode rule);

// The trained context: 0 is refused; values over limits::context are clamped, since no allocation depends on them.
int32_t checked_context(uint64_t tokens, const Text& name, const Refusal& refuse, ErrorCode rule);

// Whether rotary frequencies can be computed from this base: in 1..limits::rope_base, and not NaN.
bool is_rope_base(double base);
std::string rope_base_limit(); // "1e+12"

// Checks heads % kv_heads, rotary_dim, epsilon, rope base and factors. Sizes must have passed checked_size.
void check_config(const ModelConfig& config, const Refusal& refuse, const ConfigRules& rules);

// The head size of configurations that do not state one: dim / heads.
int32_t derived_head_dim(int32_t dim, int32_t heads, const Refusal& refuse, ErrorCode rule);

} // namespace palimpsest::engine
