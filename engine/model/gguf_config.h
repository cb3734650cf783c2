#pragma once

#include <map>
#include <string>

#include "engine/model/gguf_file.h"
#include "engine/model/model_config.h"
#include "engine/model/model_tensors.h"
#include "engine/model/refusal.h"

namespace palimpsest::engine {

// The metadata of a GGUF file as a configuration, by the family that its architecture names. Of the tensors only
// the embedding's shape is looked at.
ModelConfig read_gguf_config(const GgufFile& file, const std::map<std::string, FoundTensor>& found,
                             const Refusal& refuse);

// Takes the divisors of rotary frequencies that come as tensors out of `found`.
void read_rope_tensors(std::map<std::string, FoundTensor>& found, ModelConfig& config, const Refusal& refuse);

} // namespace palimpsest::engine
