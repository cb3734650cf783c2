#pragma once

#include "engine/model/config/model_config.h"
#include "engine/model/families/family.h"
#include "engine/model/files/json_fields.h"

namespace palimpsest::engine {

// Reads the rotary parameters of a config.json: rope_theta and rope_scaling, or rope_parameters (transformers 5),
// which may be separate for global and local layers. Also sets rotary_dim. REQUIRES: `config` has head_dim and
// context.
void read_hf_rope(const JsonFields& fields, const Family& family, const Refusal& refuse, ModelConfig& config);

} // namespace palimpsest::engine
