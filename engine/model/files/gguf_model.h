#pragma once

#include <memory>
#include <vector>

#include "engine/model/files/mapped_file.h"
#include "engine/model/files/model_files.h"

namespace palimpsest::engine {

// Opens a GGUF file of a known architecture as a model. Tensor data is read only for the fingerprint, after all
// checks have passed. Throws Error as open_model.
ModelFiles open_gguf(const std::shared_ptr<MappedFile>& file);
// Like above, for all parts of a split model, in order.
ModelFiles open_gguf(const std::vector<std::shared_ptr<MappedFile>>& parts);

} // namespace palimpsest::engine
