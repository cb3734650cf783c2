#pragma once

#include <memory>

#include "engine/model/mapped_file.h"
#include "engine/model/model_files.h"

namespace palimpsest::engine {

// A GGUF file of architecture llama or qwen2 as a model (rules G1..G14). Tensor data is looked at only for the
// fingerprint, after everything else has passed. Throws Error as open_model.
ModelFiles open_gguf(const std::shared_ptr<MappedFile>& file);

} // namespace palimpsest::engine
