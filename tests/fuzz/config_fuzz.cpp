#include <cstddef>
#include <cstdint>
#include <string_view>

#include "engine/model/files/hf_config.h"
#include "engine/model/files/model_tensors.h"
#include "engine/model/files/shard_index.h"
#include "kernels/base/error.h"

using namespace palimpsest;
using namespace palimpsest::engine;

// Reads the bytes as a config.json, then as a shard index.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size)
{
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    try {
        // Products of accepted sizes must not overflow.
        if (parameter_count(parse_hf_config(text, Refusal("config.json")).model) <= 0) __builtin_trap();
    } catch (const Error&) {
    }
    try {
        parse_shard_index(text, Refusal("model.safetensors.index.json"));
    } catch (const Error&) {
    }
    return 0;
}
