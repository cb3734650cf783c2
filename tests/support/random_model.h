// Writes GGUF files with random weights, for tests and benchmarks that need only a model's shape.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "kernels/base/dtype.h"

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
    // Type of the matrices. Types other than f32 are filled from one pool of random rows, so that a file of
    // gigabytes takes seconds.
    kernels::DType type = kernels::DType::F32;
    bool tied = false;                  // no separate output matrix
    std::string architecture = "llama"; // or qwen3, gemma2, gemma3
    int32_t window = 0;                 // Gemma: sliding window of every other layer
    bool has_tokenizer = false;         // SentencePiece with byte tokens; REQUIRES: vocabulary >= 259
    int32_t original_context = 0;       // > 0: LongRoPE, with factors 1 up to this many positions and 4 beyond
};

// Shapes of all model families: Llama; Gemma, whose local layers have windows below and above a budget of 72;
// Qwen3; Llama with 4-bit blocks.
std::vector<RandomModelShape> shapes_of_families(int32_t context);

// Throws std::runtime_error if the file cannot be written.
void write_random_model(const RandomModelShape& shape, const std::filesystem::path& path);

// Writes the file to the temporary folder, with a name per shape, and returns its path.
std::filesystem::path random_model(const RandomModelShape& shape);

} // namespace palimpsest::tests
