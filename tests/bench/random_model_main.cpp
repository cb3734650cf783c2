// Writes a random model with the shape of a known model, for benchmarks with models too large to store:
//
//   random-model OUT --shape llama3.2-1b|llama3-8b|tiny [--type f32|f16|bf16|q8_0]
#include <cstdio>
#include <exception>
#include <map>
#include <string>

#include "tests/support/random_model.h"

using namespace palimpsest;
using palimpsest::kernels::DType;

namespace {

tests::RandomModelShape shape(int32_t layers, int32_t dim, int32_t heads, int32_t head_dim, int32_t ffn,
                              int32_t vocabulary, bool tied)
{
    tests::RandomModelShape s;
    s.layers = layers, s.dim = dim, s.heads = heads, s.kv_heads = heads / 4, s.head_dim = head_dim;
    s.ffn = ffn, s.vocabulary = vocabulary, s.tied = tied;
    s.context = 136 * 1024; // 128 k tokens of text, and room for generated tokens
    return s;
}

int usage()
{
    std::fprintf(stderr, "usage: random-model OUT --shape llama3.2-1b|llama3-8b|tiny [--type f32|f16|bf16|q8_0]\n");
    return 2;
}

} // namespace

int main(int argc, char** argv)
try {
    const std::map<std::string, tests::RandomModelShape> shapes = {
        {"llama3.2-1b", shape(16, 2048, 32, 64, 8192, 128256, true)},
        {"llama3-8b", shape(32, 4096, 32, 128, 14336, 128256, false)},
        {"tiny", shape(2, 256, 4, 64, 512, 512, false)}};
    const std::map<std::string, DType> types = {
        {"f32", DType::F32}, {"f16", DType::F16}, {"bf16", DType::BF16}, {"q8_0", DType::Q8_0}};
    std::string out, shape_name, type_name = "bf16";
    for (int i = 1; i < argc; ++i) {
        const std::string word = argv[i];
        const std::string value = i + 1 < argc ? argv[i + 1] : "";
        if (word == "--shape")
            shape_name = value, ++i;
        else if (word == "--type")
            type_name = value, ++i;
        else
            out = word;
    }
    if (out.empty() || !shapes.contains(shape_name) || !types.contains(type_name)) return usage();
    tests::RandomModelShape wanted = shapes.at(shape_name);
    wanted.type = types.at(type_name);
    tests::write_random_model(wanted, out);
    return 0;
} catch (const std::exception& error) {
    std::fprintf(stderr, "random-model: %s\n", error.what());
    return 1;
}
