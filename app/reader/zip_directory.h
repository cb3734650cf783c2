// The central directory of a zip archive, checked against the local headers before a library unpacks anything: no
// entry shares bytes with another (Fifield, "A better zip bomb", 2019), names stay inside, sizes agree.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace palimpsest::reader {

struct ZipEntry {
    std::string name;
    uint16_t flags = 0, method = 0;
    uint32_t crc = 0;
    uint64_t packed = 0, unpacked = 0; // bytes, as the directory says
    uint64_t begin = 0, end = 0;       // of its local header and data, in the archive
};

// Throws Problem. Zip64 is refused: no document needs more than 4 GiB.
std::vector<ZipEntry> checked_zip_directory(std::string_view archive);

} // namespace palimpsest::reader
