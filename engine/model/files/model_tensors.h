// The tensors that a configuration requires, and the check of a file's tensors (docs/validation.md, G14 and S9).
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "engine/model/config/model_config.h"
#include "engine/model/files/model_files.h"
#include "engine/model/files/refusal.h"

namespace palimpsest::engine {

struct RequiredTensor {
    std::string name;
    int64_t rows;
    int64_t cols;
    bool is_vector = false; // stored as one dimension
};

std::vector<RequiredTensor> required_tensors(const ModelConfig& config);

// The number of parameters in the required tensors.
int64_t parameter_count(const ModelConfig& config);

// "1536 x 384", for messages.
Text shape_text(const std::vector<uint64_t>& shape);

// The warning about tensors that belong to the image part of a model.
Text unused_image_tensors(size_t count);

struct FoundTensor {
    std::string label;           // as the file spells it, for messages
    std::vector<uint64_t> shape; // outermost first
    HostTensor tensor;
};

// Takes the required tensors from `found` (keyed by GGUF name), each with exactly its shape. Extra tensors give a
// warning, unless they are known to change what a layer computes: then the model is refused and the tensor named.
std::map<std::string, HostTensor> take_tensors(const ModelConfig& config, std::map<std::string, FoundTensor> found,
                                               const Refusal& refuse, ErrorCode rule, std::vector<Text>& warnings);

} // namespace palimpsest::engine
