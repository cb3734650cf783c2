// The settings that all generations of Gemma share.
#pragma once

#include "engine/model/families/family.h"

namespace palimpsest::engine {

// Norms on both sides, GeGLU, the factor of the embedding. Safetensors files store norm weights less 1.
void describe_gemma(const ConfigFields& fields, ModelConfig& config);
// The scale of attention's logits. GGUF files leave it out: it is that of the head size, but for the largest model,
// told by its number of layers, that of dim / heads.
void read_gemma_scale(const ConfigFields& fields, ModelConfig& config, int32_t layers_of_largest);
// A cap of logits. A GGUF file that names none has `gguf_cap`, and config.json none; 0: no cap.
float read_soft_cap(const ConfigFields& fields, ConfigKey key, double gguf_cap);
std::vector<std::pair<std::string_view, std::string_view>> gemma_tensor_names();

} // namespace palimpsest::engine
