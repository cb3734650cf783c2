#pragma once

#include <map>
#include <string>

#include "engine/model/config/model_config.h"
#include "engine/model/files/gguf_file.h"
#include "engine/model/files/model_tensors.h"
#include "engine/model/files/refusal.h"

namespace palimpsest::engine {

// Reads the metadata of a GGUF file as a configuration, by the family that its architecture names. The only tensor
// consulted is the embedding, for its shape.
ModelConfig read_gguf_config(const GgufFile& file, const std::map<std::string, FoundTensor>& found,
                             const Refusal& refuse);

// Moves the divisors of rotary frequencies that are stored as tensors from `found` to `config`.
void read_rope_tensors(std::map<std::string, FoundTensor>& found, ModelConfig& config, const Refusal& refuse);

} // namespace palimpsest::engine
