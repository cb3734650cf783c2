// Copies a file of which some parts cannot be read.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <span>
#include <sys/types.h>

namespace palimpsest::storage {

inline constexpr size_t copied_piece_bytes = 8192; // a page of every Palimpsest database

// Like pread(2): reads into `to` from a place, and returns the number of bytes, or -1 with errno.
using ReadAt = std::function<ssize_t(std::span<char> to, uint64_t place)>;

// Writes `bytes` bytes to `to` as a new file that only the user can read. A piece of 8 KiB that cannot be read, as
// on a damaged disk, becomes zeros. `check_stop` is called at every piece, and may throw. Throws Error: Resources
// (PAL-DISK-01) if the disk is full, Failed (PAL-DISK-03) if the copy cannot be written.
void copy_readable(const ReadAt& read, uint64_t bytes, const std::filesystem::path& to,
                   const std::function<void()>& check_stop);
// Copies a file. Throws like that, and Failed (PAL-DISK-03) if it cannot be opened.
void copy_readable(const std::filesystem::path& from, const std::filesystem::path& to,
                   const std::function<void()>& check_stop);

// Throws what a rescue says if a file of it cannot be written. `reason`: of errno. Throws Error: Resources
// (PAL-DISK-01) if the disk is full, otherwise Failed (PAL-DISK-03).
[[noreturn]] void refuse_copy(const std::filesystem::path& file, int reason);

} // namespace palimpsest::storage
