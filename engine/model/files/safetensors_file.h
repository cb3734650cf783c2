// The header of a safetensors file (github.com/huggingface/safetensors, "Format"; docs/validation.md, S1 to S7).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "engine/model/files/refusal.h"
#include "kernels/base/dtype.h"

namespace palimpsest::engine {

struct SafetensorsTensor {
    std::string name;
    std::string dtype;                  // as spelled in the file; a type that the format defines
    std::optional<kernels::DType> type; // empty: a type that the engine does not use
    std::vector<uint64_t> shape;        // outermost first
    uint64_t offset = 0;                // from the start of the file
    uint64_t bytes = 0;
};

struct SafetensorsFile {
    uint64_t header_bytes = 0;              // including the length word; the first tensor begins here
    std::vector<SafetensorsTensor> tensors; // ordered by offset
};

// Linear in the header size; reads no tensor data. `bytes` is the whole file.
SafetensorsFile parse_safetensors(std::span<const std::byte> bytes, const Refusal& refuse);

} // namespace palimpsest::engine
