// A file in the making, beside the one whose name it gets when it is complete.
#pragma once

#include <filesystem>
#include <system_error>

#include "kernels/base/error.h"

namespace palimpsest::storage {

class PartFile {
public:
    // Makes an empty file (0600), named as `file` with ".palimpsest-part-" and six characters, and holds a lock on
    // it (flock), after removing parts that killed processes left. Throws Error (Failed, PAL-DISK-03) that names
    // `file`.
    explicit PartFile(std::filesystem::path file);
    ~PartFile(); // removes what has not got the name
    PartFile(const PartFile&) = delete;
    PartFile& operator=(const PartFile&) = delete;

    const std::filesystem::path& path() const { return part_; }
    // Where a database is made instead: SQLite has locks of its own. No file has this name.
    std::filesystem::path database() const { return part_.string() + ".db"; }
    // Gives `made`, which is path() or database(), the name of the file, also if that is there.
    [[nodiscard]] std::error_code finish(const std::filesystem::path& made) const;

private:
    std::filesystem::path file_, part_;
    int lock_ = -1;
};

// Removes the parts of `file` that no running process has locked: killed processes left them. Ignores failures.
void remove_left_parts(const std::filesystem::path& file);

// An error of a file in the making, its lock or its own part, as one of the file that the user has named.
Error with_file_name(const Error& error, const std::filesystem::path& part, const std::filesystem::path& file);

} // namespace palimpsest::storage
