// A model on disk, opened and validated, its tensors mapped: a .gguf file, one of several that it was split into,
// or a Hugging Face folder.
//
// Tensor names are those of GGUF whatever the source: token_embd.weight, output_norm.weight, output.weight,
// blk.N.{attn_norm,attn_q,attn_k,attn_v,attn_output,ffn_norm,ffn_gate,ffn_up,ffn_down}.weight, attn_{q,k,v}.bias,
// and what required_tensors() says of further families; experts' matrices are ffn_{gate,up,down}.E.weight.
// Every tensor that the configuration requires is there with exactly the derived shape (rules G14, S9).
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "engine/model/model_config.h"
#include "engine/text/vocabulary.h"
#include "kernels/base/dtype.h"

namespace palimpsest::engine {

// One tensor, row-major: rows x cols (a vector has one row). The bytes live as long as the ModelFiles.
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
    std::vector<std::string> warnings; // unknown extra tensors and the like
    uint64_t file_bytes = 0;
    int64_t parameters = 0;
    // XXH3-128 over header, tensor table, sizes and a few KiB of every tensor (rule G16), as 32 hex digits.
    std::string fingerprint;
    std::vector<std::shared_ptr<MappedFile>> mappings;

    const HostTensor* find(const std::string& name) const;
};

// Any part of a split model opens all of it. Throws Error: NotFound (no such path, or a part is missing), Failed with
// PAL-MODEL-nn (nn the number of the first failing rule).
ModelFiles open_model(const std::filesystem::path& path);

// XXH3-128 over every byte of the model's files, for `models verify`; throws Error as open_model.
std::string full_hash(const ModelFiles& files);

} // namespace palimpsest::engine
