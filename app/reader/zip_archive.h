// The entries of a zip archive, which must be plain: no encryption, no entry that overlaps another or leaves the
// archive, no archive within. docs/validation.md has the rules.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

struct zip;

namespace palimpsest::reader {

class ZipArchive {
public:
    // `bytes` must outlive this. Throws Problem if it is damaged, protected or beyond the limits.
    explicit ZipArchive(std::string_view bytes);

    static bool is_zip(std::string_view bytes) { return bytes.starts_with("PK\x03\x04"); }

    bool has(const std::string& name) const { return entries_.contains(name); }
    // The entry, unpacked; nullopt if there is none. Throws Problem if it is damaged or beyond the limits.
    std::optional<std::string> read(const std::string& name);

private:
    struct Close {
        void operator()(zip* archive) const;
    };

    std::unique_ptr<zip, Close> archive_;
    std::unordered_map<std::string, uint64_t> entries_; // index by name
    uint64_t unpacked_ = 0;                             // bytes of all that was read
};

} // namespace palimpsest::reader
