// The summary of a GGUF file for model lists: read from the header alone, without validating the model.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

namespace palimpsest::engine {

struct GgufSummary {
    std::string architecture; // general.architecture: "llama"
    std::string type;         // weight type, e.g. "Q4_K_M": from general.file_type, or that of most tensors
    std::string purpose;      // general.type: "model", "mmproj", "adapter"; empty: not stated
    uint32_t parts = 1;       // split.count: number of files of the model
    uint32_t part = 0;        // split.no: index of this file, from 0

    // False for vision projectors, adapters and importance matrices.
    bool is_language_model() const;
};

// Empty unless the bytes are a GGUF file of version 2 or 3 with an intact header. Linear in the header (at most
// gguf_header_bytes); reads no tensor data, and no allocation size is taken from the file.
std::optional<GgufSummary> summarize_gguf(std::span<const std::byte> bytes);

} // namespace palimpsest::engine
