// The tensors of a BERT encoder, by their names in model.safetensors. Rule E5 in docs/validation.md says which must
// be there and which are refused.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "engine/encoder/bert_config.h"
#include "engine/model/files/mapped_file.h"
#include "engine/model/files/model_files.h"
#include "engine/model/files/safetensors_file.h"

namespace palimpsest::engine {

struct BertTensors {
    uint64_t header_bytes = 0;                       // of the file: its length word and table
    std::map<std::string, HostTensor> tensors;       // exactly those that the forward pass reads
    std::vector<std::shared_ptr<MappedFile>> memory; // keeps them valid: the file, and copies of misaligned tensors

    const HostTensor& at(const std::string& name) const { return tensors.at(name); }
};

// The numbers of a tensor, row by row.
std::vector<float> widened(const HostTensor& tensor);

// The start of the names of a layer's tensors: "encoder.layer.3.".
std::string bert_layer_prefix(int32_t layer);

// Takes the required tensors, each with exactly the shape that the configuration gives it. Ignores the pooler,
// which sentence embeddings do not use, and position ids; refuses other tensors, which may change what a layer
// computes. Throws Error with the code of the rule that is broken: PAL-MODEL-S1 to PAL-MODEL-S7, or PAL-MODEL-S9.
BertTensors take_bert_tensors(const BertConfig& config, const std::shared_ptr<MappedFile>& file);

} // namespace palimpsest::engine
