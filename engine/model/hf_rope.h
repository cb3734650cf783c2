#pragma once

#include "engine/model/families/family.h"
#include "engine/model/json_fields.h"
#include "engine/model/model_config.h"

namespace palimpsest::engine {

// The rotary angles of a config.json: rope_theta and rope_scaling, or rope_parameters of transformers 5, which may
// be given apart for global and local layers. REQUIRES: head_dim and context of `config`; sets rotary_dim as well.
void read_hf_rope(const JsonFields& fields, const Family& family, const Refusal& refuse, ModelConfig& config);

} // namespace palimpsest::engine
