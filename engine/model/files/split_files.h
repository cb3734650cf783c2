// Models that are split into several GGUF files: NAME-00001-of-00005.gguf and so on.
#pragma once

#include <filesystem>
#include <memory>
#include <vector>

#include "engine/model/files/gguf_file.h"
#include "engine/model/files/mapped_file.h"

namespace palimpsest::engine {

// All parts of the model, in order, derived from the name of one part; `path` alone if its name has no such
// pattern.
std::vector<std::filesystem::path> split_parts(const std::filesystem::path& path);

// Maps all parts. Throws Error: NotFound, naming the missing part; otherwise as MappedFile::open.
std::vector<std::shared_ptr<MappedFile>> open_parts(const std::filesystem::path& path);

// Checks the parts' metadata about the split: split.no, split.count and split.tensors.count. Files without these
// keys are not split.
void check_split(std::span<const GgufFile> parts, const Refusal& refuse);

} // namespace palimpsest::engine
