#include "engine/session/cache_bytes.h"

#include <algorithm>
#include <limits>

namespace palimpsest::engine {
namespace {

uint64_t saturating_product(uint64_t a, uint64_t b)
{
    constexpr uint64_t most = std::numeric_limits<uint64_t>::max();
    return b != 0 && a > most / b ? most : a * b;
}

} // namespace

uint64_t token_bytes(const ModelConfig& model, kernels::DType type)
{
    return static_cast<uint64_t>(model.kv_heads) *
           static_cast<uint64_t>(2 * kernels::row_bytes(type, model.head_dim));
}

uint64_t tokens_in_layers(const ModelConfig& model, uint64_t tokens)
{
    uint64_t local = 0;
    for (int32_t l = 0; l < model.layers; ++l)
        if (const auto window = static_cast<uint64_t>(model.plan(l).window); window > 0)
            local += std::min(tokens, window);
    const uint64_t global = saturating_product(tokens, static_cast<uint64_t>(layers_without_window(model)));
    return global + std::min(local, std::numeric_limits<uint64_t>::max() - global);
}

uint64_t cache_bytes(const ModelConfig& model, kernels::DType type, uint64_t tokens)
{
    return saturating_product(tokens_in_layers(model, tokens), token_bytes(model, type));
}

int32_t layers_without_window(const ModelConfig& model)
{
    int32_t layers = 0;
    for (int32_t l = 0; l < model.layers; ++l)
        layers += model.plan(l).window == 0 ? 1 : 0;
    return layers;
}

} // namespace palimpsest::engine
