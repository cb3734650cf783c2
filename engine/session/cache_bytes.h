// How many bytes the keys and values of kept tokens take: the one place that knows a layer with a window holds no
// more than its window.
#pragma once

#include <cstdint>

#include "engine/model/model_config.h"
#include "kernels/base/dtype.h"

namespace palimpsest::engine {

// Keys and values of one token in one layer, for all of its KV heads.
uint64_t token_bytes(const ModelConfig& model, kernels::DType type);

// Keys and values of lists that hold `tokens` per KV head, in a layer with a window min(window, tokens). Staged
// chunks are not counted. Saturates at UINT64_MAX.
uint64_t cache_bytes(const ModelConfig& model, kernels::DType type, uint64_t tokens);

// The tokens that all layers together hold per KV head, of which cache_bytes is the size.
uint64_t tokens_in_layers(const ModelConfig& model, uint64_t tokens);

// Layers that see every kept token: the number that grows with the budget.
int32_t layers_without_window(const ModelConfig& model);

} // namespace palimpsest::engine
