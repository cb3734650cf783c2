// A GGUF file of random weights, for tests and measurements that need a shape and not a meaning.
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
    // Other types than f32: of the matrices, which are then filled from one pool of random rows, so that a file of
    // gigabytes takes seconds.
    kernels::DType type = kernels::DType::F32;
    bool tied = false;                  // no output matrix of its own
    std::string architecture = "llama"; // or qwen3, gemma2, gemma3
    int32_t window = 0;                 // of Gemma: every other layer sees only so many tokens
    bool has_tokenizer = false;         // sentencepiece by bytes; REQUIRES: a vocabulary of 259 or more
    int32_t original_context = 0;       // > 0: LongRoPE with factors of 1, and of 4 beyond so many positions
};

// One shape of every kind that contracts are held over: Llama's; Gemma's with local layers, whose window is below
// and above a budget of 72; Qwen3's; and Llama's in blocks of four bits.
std::vector<RandomModelShape> shapes_of_families(int32_t context);

// Throws std::runtime_error if the file cannot be written.
void write_random_model(const RandomModelShape& shape, const std::filesystem::path& path);

// Writes the file into the temporary folder (one name per shape) and returns its path.
std::filesystem::path random_model(const RandomModelShape& shape);

} // namespace palimpsest::tests
