#pragma once

#include <memory>
#include <vector>

#include "engine/model/mapped_file.h"
#include "engine/model/model_files.h"

namespace palimpsest::engine {

// A GGUF file of a known architecture as a model. Tensor data is looked at only for the
// fingerprint, after everything else has passed. Throws Error as open_model.
ModelFiles open_gguf(const std::shared_ptr<MappedFile>& file);
// The same of all parts of a file that was split, in order.
ModelFiles open_gguf(const std::vector<std::shared_ptr<MappedFile>>& parts);

} // namespace palimpsest::engine
