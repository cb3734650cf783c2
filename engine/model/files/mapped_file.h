// The bytes of a model file: mapped read-only, or copied to memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "engine/model/files/bus_guard.h"
#include "kernels/base/error_code.h"

namespace palimpsest::engine {

// Immutable; readable from any thread. The descriptor stays open, so replacing the file under the same name does
// not change the mapped content.
class MappedFile {
public:
    // Opens once; before reading, refuses anything but a regular file of 1..`limit` bytes (docs/validation.md, G1;
    // reported as `rule`). Throws Error (NotFound) if the path does not exist.
    static std::shared_ptr<MappedFile> open(const std::filesystem::path& path, uint64_t limit, ErrorCode rule);
    // A copy aligned to 64 bytes, for tests and for tensors that are misaligned in their file.
    static std::shared_ptr<MappedFile> copy(std::span<const std::byte> bytes, std::string name);

    ~MappedFile();
    MappedFile(const MappedFile&) = delete;
    MappedFile& operator=(const MappedFile&) = delete;

    std::span<const std::byte> bytes() const { return {data_, size_}; }
    std::string_view text() const;
    const std::string& name() const { return name_; }
    bool is_file() const { return descriptor_ >= 0; }

    // Throws Error (PAL-MODEL-16) if the file was truncated, rewritten or replaced since open. Call it after
    // reading the data: a lost page reads as zeros, which would otherwise pass for weights.
    void check_unchanged() const;

private:
    MappedFile() = default;

    const std::byte* data_ = nullptr;
    size_t size_ = 0;
    std::string name_;
    int descriptor_ = -1;
    uint64_t inode_ = 0, device_ = 0;
    int64_t modified_ns_ = 0;
    std::optional<BusGuard> guard_;
};

} // namespace palimpsest::engine
