// Opens the files of a Hugging Face folder.
//
// A file may be a symbolic link within the folder, or into the blob store that the Hugging Face cache keeps next to
// its "snapshots" folder; a link to anywhere else is refused (docs/validation.md, S8).
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>

#include "engine/model/files/mapped_file.h"
#include "kernels/base/error_code.h"

namespace palimpsest::engine {

// Throws Error as MappedFile::open, and PAL-MODEL-S8 for a link out of the folder.
std::shared_ptr<MappedFile> open_folder_file(const std::filesystem::path& folder, const std::string& name,
                                             uint64_t limit, ErrorCode rule);
// Null if the folder has no such file.
std::shared_ptr<MappedFile> find_folder_file(const std::filesystem::path& folder, const std::string& name,
                                             uint64_t limit, ErrorCode rule);

} // namespace palimpsest::engine
