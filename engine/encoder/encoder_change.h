// A change of an encoder's weights that was trained, in low rank (Hu et al. 2022, "LoRA", equation 3), read from a
// safetensors file: a matrix W with the tensors "W.up", [rows, r], and "W.down", [r, columns], becomes W + up down,
// and a vector v with the tensor "v.add" becomes v + add. Rules E7 and E8 in docs/validation.md say what
// is checked.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "engine/encoder/bert_tensors.h"
#include "engine/model/files/mapped_file.h"

namespace palimpsest::engine {

// The tensors with the change, in F32 where they are changed. Throws Error with the code of the rule that is
// broken: PAL-MODEL-S1 to PAL-MODEL-S7, or PAL-MODEL-S9. Cost: 2 r operations per number of a changed matrix.
BertTensors changed(const BertTensors& tensors, const std::shared_ptr<MappedFile>& change);

// A change that also has the tensor "score", [width]: what turns a state into a score
// (engine/encoder/cross_encoder.h).
struct ScoredChange {
    BertTensors tensors; // with the change
    std::vector<float> score;
};

// As changed(); the tensor "score" must be there.
ScoredChange scored_change(const BertTensors& tensors, int32_t width, const std::shared_ptr<MappedFile>& change);

} // namespace palimpsest::engine
