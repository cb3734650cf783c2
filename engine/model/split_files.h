// Models that are split into several GGUF files: NAME-00001-of-00005.gguf and so on.
#pragma once

#include <filesystem>
#include <memory>
#include <vector>

#include "engine/model/gguf_file.h"
#include "engine/model/mapped_file.h"

namespace palimpsest::engine {

// All parts of the model that this is a part of by its name, in order; the path alone if its name says nothing.
std::vector<std::filesystem::path> split_parts(const std::filesystem::path& path);

// Maps them. Throws Error: NotFound, which names the missing part; else as MappedFile::open.
std::vector<std::shared_ptr<MappedFile>> open_parts(const std::filesystem::path& path);

// Checks what the parts' metadata say of the split: split.no, split.count and split.tensors.count. A file that was
// not split says nothing.
void check_split(std::span<const GgufFile> parts, const Refusal& refuse);

} // namespace palimpsest::engine
