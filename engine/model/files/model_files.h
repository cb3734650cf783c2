// A model on disk, opened and validated, with its tensors mapped: a .gguf file, the parts of a split one, or a
// Hugging Face folder.
//
// Tensor names are those of GGUF for every source: token_embd.weight, output_norm.weight, output.weight,
// blk.N.{attn_norm,attn_q,attn_k,attn_v,attn_output,ffn_norm,ffn_gate,ffn_up,ffn_down}.weight, attn_{q,k,v}.bias,
// and those that required_tensors() adds for other families; expert matrices are ffn_{gate,up,down}.E.weight. Every
// tensor required by the configuration is present with exactly its derived shape (docs/validation.md, G14 and S9).
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "engine/model/config/model_config.h"
#include "engine/text/subwords/vocabulary.h"
#include "kernels/base/dtype.h"
#include "kernels/base/text.h"

namespace palimpsest::engine {

// One tensor, row-major: rows x cols (a vector has one row). The bytes are valid as long as the ModelFiles.
struct HostTensor {
    kernels::DType type = kernels::DType::F32;
    int64_t rows = 0;
    int64_t cols = 0;
    const std::byte* data = nullptr;
    size_t bytes = 0;
};

class MappedFile;

struct ModelFiles {
    std::filesystem::path path;
    std::string format; // "GGUF v3", "safetensors"
    ModelConfig config;
    Vocabulary vocabulary;
    std::map<std::string, HostTensor> tensors;
    std::vector<Text> warnings; // e.g. unknown extra tensors
    uint64_t file_bytes = 0;
    int64_t parameters = 0;
    // XXH3-128 over the headers, the size of the files and both ends of every tensor, as 32 hex digits; rule G16 of
    // docs/validation.md.
    std::string fingerprint;
    std::vector<std::shared_ptr<MappedFile>> mappings;

    const HostTensor* find(const std::string& name) const;
};

} // namespace palimpsest::engine
