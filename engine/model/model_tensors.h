// Which tensors a configuration requires, and the check of what a file brought against them (rules G14 and S9).
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "engine/model/model_config.h"
#include "engine/model/model_files.h"
#include "engine/model/refusal.h"

namespace palimpsest::engine {

struct RequiredTensor {
    std::string name;
    int64_t rows;
    int64_t cols;
    bool is_vector = false; // one row, stored without that dimension
};

std::vector<RequiredTensor> required_tensors(const ModelConfig& config);

// The numbers in them; what a file must at least bring.
int64_t parameter_count(const ModelConfig& config);

// The warning about tensors that only a model for images has.
std::string unused_image_tensors(size_t count);

struct FoundTensor {
    std::string label;           // as the file spells it, for messages
    std::vector<uint64_t> shape; // outermost first
    HostTensor tensor;
};

// The required tensors out of `found` (keyed by GGUF name), each of exactly its shape. What is left over becomes a
// warning, unless it is known to change what a layer computes: then the model is refused by name.
std::map<std::string, HostTensor> take_tensors(const ModelConfig& config, std::map<std::string, FoundTensor> found,
                                               const Refusal& refuse, const char* rule,
                                               std::vector<std::string>& warnings);

} // namespace palimpsest::engine
