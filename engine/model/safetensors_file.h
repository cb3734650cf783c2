// The header of a safetensors file (github.com/huggingface/safetensors, "Format"), validated by rules S1..S7.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "engine/model/refusal.h"
#include "kernels/base/dtype.h"

namespace palimpsest::engine {

struct SafetensorsTensor {
    std::string name;
    std::string dtype;                  // as the file spells it, one that the format knows
    std::optional<kernels::DType> type; // nothing: of no use here
    std::vector<uint64_t> shape;        // outermost first
    uint64_t offset = 0;                // from the start of the file
    uint64_t bytes = 0;
};

struct SafetensorsFile {
    uint64_t header_bytes = 0;              // with the length word; the first tensor begins here
    std::vector<SafetensorsTensor> tensors; // in the order of their bytes
};

// Linear in the header; touches no tensor data. `bytes` is the whole file.
SafetensorsFile parse_safetensors(std::span<const std::byte> bytes, const Refusal& refuse);

} // namespace palimpsest::engine
