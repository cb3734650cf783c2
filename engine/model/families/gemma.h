// Settings shared by all generations of Gemma.
#pragma once

#include "engine/model/families/family.h"

namespace palimpsest::engine {

// Norms before and after each block, GeGLU, the embedding factor. Safetensors files store norm weights minus 1.
void describe_gemma(const ConfigFields& fields, ModelConfig& config);
// The scale of attention logits. GGUF files may omit it: the default is 1 / sqrt(head_dim), or, for the largest
// model (identified by its number of layers), 1 / sqrt(dim / heads).
void read_gemma_scale(const ConfigFields& fields, ModelConfig& config, int32_t layers_of_largest);
// A soft cap of logits; if absent, `gguf_cap` for GGUF files, and none (0) for config.json.
float read_soft_cap(const ConfigFields& fields, ConfigKey key, double gguf_cap);
std::vector<std::pair<std::string_view, std::string_view>> gemma_tensor_names();

} // namespace palimpsest::engine
