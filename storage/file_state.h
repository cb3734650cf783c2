// Inode, size and time of a file, which tell whether it was replaced or changed without reading it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>

namespace palimpsest::storage {

struct FileState {
    uint64_t device = 0, inode = 0, bytes = 0;
    int64_t changed_ns = 0; // when its content was changed last, since 1970

    static std::optional<FileState> of(const std::filesystem::path& file); // nullopt: it is not there
    bool operator==(const FileState&) const = default;
};

} // namespace palimpsest::storage
