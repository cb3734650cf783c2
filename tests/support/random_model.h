// A GGUF file of random f32 weights, for tests that need a shape and not a meaning.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

namespace palimpsest::tests {

struct RandomModelShape {
    int32_t layers = 4;
    int32_t dim = 32;
    int32_t heads = 4;
    int32_t kv_heads = 2;
    int32_t head_dim = 8;
    int32_t ffn = 64;
    int32_t vocabulary = 96;
    int32_t context = 4096;
    float weight_scale = 0.5f; // large enough that attention is far from uniform
    uint64_t seed = 1;
};

// Writes the file into the temporary folder (one name per shape) and returns its path. No tokenizer, untied.
std::filesystem::path random_model(const RandomModelShape& shape);

} // namespace palimpsest::tests
