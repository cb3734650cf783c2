// The summary of a GGUF file that a list of models shows: read from its header, without checking the model.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

namespace palimpsest::engine {

struct GgufSummary {
    std::string architecture; // general.architecture: "llama"
    std::string type;    // of the weights: "Q4_K_M", as general.file_type numbers them, or that of most tensors
    std::string purpose; // general.type: "model", "mmproj", "adapter"; empty: not said
    uint32_t parts = 1;  // split.count: of one model, in as many files
    uint32_t part = 0;   // split.no: the index of this file, 0 for the first

    // A vision projector, an adapter or an importance matrix is no model by itself.
    bool is_language_model() const;
};

// Nothing if the bytes are no GGUF file of version 2 or 3 or if the header is damaged. Linear in the header (up to
// gguf_header_bytes); touches no tensor data and allocates nothing that the file could choose the size of.
std::optional<GgufSummary> summarize_gguf(std::span<const std::byte> bytes);

} // namespace palimpsest::engine
