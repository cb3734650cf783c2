// The bytes of a model: a file mapped read-only, or a copy in memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "engine/model/bus_guard.h"

namespace palimpsest::engine {

// Immutable; any thread may read. The descriptor stays open, so a file that is replaced by another of the same name
// does not change what is read here.
class MappedFile {
public:
    // Opens once, refuses anything but a regular file of 1..`limit` bytes before reading (rule G1, reported as
    // PAL-MODEL-`rule`). Throws Error (NotFound) if the path does not exist.
    static std::shared_ptr<MappedFile> open(const std::filesystem::path& path, uint64_t limit,
                                            const std::string& rule);
    // An aligned copy (64 bytes), for tests and for tensors that lie at odd addresses in their file.
    static std::shared_ptr<MappedFile> copy(std::span<const std::byte> bytes, std::string name);

    ~MappedFile();
    MappedFile(const MappedFile&) = delete;
    MappedFile& operator=(const MappedFile&) = delete;

    std::span<const std::byte> bytes() const { return {data_, size_}; }
    std::string_view text() const;
    const std::string& name() const { return name_; }
    bool is_file() const { return descriptor_ >= 0; }

    // Throws Error (PAL-MODEL-16) if the file was cut, rewritten or replaced since open. To be called after reading
    // what matters: the zeros that stand in for a lost page are otherwise taken for weights.
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
