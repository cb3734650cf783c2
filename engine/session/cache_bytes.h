// Bytes of the keys and values of kept tokens. A layer with a window holds no more tokens than its window.
#pragma once

#include <cstdint>

#include "engine/model/config/model_config.h"
#include "kernels/base/dtype.h"

namespace palimpsest::engine {

// Bytes of one token in one layer, over all of its KV heads.
uint64_t token_bytes(const ModelConfig& model, kernels::DType type);

// Bytes of all lists if each holds `tokens` tokens, or min(window, tokens) in a layer with a window. The staging
// buffer is not counted. Saturates at UINT64_MAX.
uint64_t cache_bytes(const ModelConfig& model, kernels::DType type, uint64_t tokens);

// Tokens per KV head, summed over layers, that cache_bytes counts. Saturates likewise.
uint64_t tokens_in_layers(const ModelConfig& model, uint64_t tokens);

// Number of layers without a window: only their lists grow with the budget.
int32_t layers_without_window(const ModelConfig& model);

} // namespace palimpsest::engine
