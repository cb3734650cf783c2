#include "tests/fuzz/plain_archive.h"

#include <cstdint>
#include <utility>

namespace palimpsest::fuzz {
namespace {

uint32_t crc32_of(std::string_view bytes)
{
    uint32_t crc = 0xFFFFFFFF;
    for (const char byte : bytes) {
        crc ^= static_cast<unsigned char>(byte);
        for (int bit = 0; bit < 8; ++bit)
            crc = crc >> 1 ^ (crc & 1 ? 0xEDB88320 : 0);
    }
    return ~crc;
}

void put16(std::string& out, size_t number)
{
    out += static_cast<char>(number & 0xFF);
    out += static_cast<char>(number >> 8 & 0xFF);
}

void put32(std::string& out, size_t number)
{
    put16(out, number);
    put16(out, number >> 16);
}

class Archive {
public:
    void add(std::string_view name, std::string_view content)
    {
        std::string common; // to both headers
        put16(common, 20);  // version
        put16(common, 0);   // flags
        put16(common, 0);   // stored
        put32(common, 0);   // time and date
        put32(common, crc32_of(content));
        put32(common, content.size());
        put32(common, content.size());
        put16(common, name.size());
        put16(common, 0); // extra
        directory_.append("PK\x01\x02");
        put16(directory_, 20);
        directory_ += common;
        directory_.append(10, '\0'); // comment, disk, attributes
        put32(directory_, bytes_.size());
        directory_ += name;
        bytes_.append("PK\x03\x04").append(common).append(name).append(content);
        ++entries_;
    }

    std::string finish() &&
    {
        const size_t directory_begin = bytes_.size();
        bytes_ += directory_;
        bytes_.append("PK\x05\x06").append(4, '\0');
        put16(bytes_, entries_);
        put16(bytes_, entries_);
        put32(bytes_, directory_.size());
        put32(bytes_, directory_begin);
        put16(bytes_, 0);
        return std::move(bytes_);
    }

private:
    std::string bytes_, directory_;
    size_t entries_ = 0;
};

} // namespace

std::string plain_archive(std::string_view parts)
{
    constexpr std::string_view mark = "@@";
    Archive archive;
    for (size_t at = parts.find(mark); at != parts.npos;) {
        const size_t next = parts.find(mark, at + mark.size());
        const std::string_view part = parts.substr(at + mark.size(), next - at - mark.size());
        const size_t line_end = part.find('\n');
        if (line_end != part.npos) archive.add(part.substr(0, line_end), part.substr(line_end + 1));
        at = next;
    }
    return std::move(archive).finish();
}

} // namespace palimpsest::fuzz
