#include "app/reader/zip_directory.h"

#include <algorithm>
#include <unordered_set>

#include "app/reader/text_writer.h"
#include "kernels/base/checked.h"

namespace palimpsest::reader {
namespace {

using storage::DocumentProblem;

constexpr size_t most_entries = 10'000; // docs/validation.md, L10
constexpr size_t longest_name = 512;
constexpr uint16_t is_encrypted = 1, has_descriptor = 8, is_strongly_encrypted = 64;
constexpr uint16_t stored = 0, deflated = 8;

[[noreturn]] void damaged()
{
    throw Problem{DocumentProblem::Damaged,
                  Text("it is incomplete or damaged: its zip archive does not hold together"),
                  Text("get it again, or open it in the program that made it and save it anew")};
}

// A part of the archive, read from its start.
class Cursor {
public:
    explicit Cursor(std::string_view bytes) : rest_(bytes) {}

    std::string_view take(uint64_t bytes)
    {
        if (bytes > rest_.size()) damaged();
        const std::string_view taken = rest_.substr(0, bytes);
        rest_.remove_prefix(bytes);
        return taken;
    }
    uint16_t u16() { return static_cast<uint16_t>(number(2)); }
    uint32_t u32() { return static_cast<uint32_t>(number(4)); }
    void expect(std::string_view signature)
    {
        if (take(signature.size()) != signature) damaged();
    }

private:
    uint64_t number(size_t bytes)
    {
        uint64_t value = 0;
        const std::string_view taken = take(bytes);
        for (size_t i = 0; i < bytes; ++i)
            value |= static_cast<uint64_t>(static_cast<unsigned char>(taken[i])) << (8 * i);
        return value;
    }

    std::string_view rest_;
};

struct Directory {
    std::string_view bytes;
    size_t entries = 0;
};

// The last record of the archive says where the directory is. It ends with a comment of at most 64 KiB.
Directory find_directory(std::string_view archive)
{
    constexpr std::string_view signature = "PK\x05\x06";
    constexpr size_t record_bytes = 22, longest_comment = 0xFFFF;
    const size_t first = archive.size() - std::min(archive.size(), record_bytes + longest_comment);
    for (size_t at = archive.rfind(signature); at != archive.npos && at >= first;
         at = at == 0 ? archive.npos : archive.rfind(signature, at - 1)) {
        Cursor record(archive.substr(at));
        record.expect(signature);
        if (archive.size() - at < record_bytes) continue;
        const uint16_t disk = record.u16(), first_disk = record.u16(), here = record.u16(), all = record.u16();
        const uint32_t size = record.u32(), offset = record.u32();
        if (record.u16() != archive.size() - at - record_bytes) continue; // not the record, but bytes like it
        if (disk != 0 || first_disk != 0 || here != all)
            throw Problem{DocumentProblem::Unsupported, Text("it is one part of a divided zip archive"),
                          Text("join the parts first")};
        if (offset > at || size > at - offset) damaged();
        return {archive.substr(offset, size), all};
    }
    damaged();
}

void check_name(const std::string& name)
{
    const bool has_drive = name.size() > 1 && name[1] == ':';
    const bool is_safe = !name.empty() && name.size() <= longest_name && name.front() != '/' && !has_drive &&
                         name.find_first_of(std::string_view("\\\0", 2)) == name.npos;
    size_t begin = 0;
    bool climbs = false;
    while (begin <= name.size()) {
        const size_t end = std::min(name.find('/', begin), name.size());
        climbs = climbs || name.substr(begin, end - begin) == "..";
        begin = end + 1;
    }
    if (!is_safe || climbs)
        throw Problem{
            DocumentProblem::Damaged,
            Text("its zip archive has an entry with a name that is not allowed: {0}", Text::escaped(name)),
            Text("get it from another place")};
}

ZipEntry read_entry(Cursor& directory)
{
    directory.expect("PK\x01\x02");
    directory.take(4); // versions
    ZipEntry entry;
    entry.flags = directory.u16();
    entry.method = directory.u16();
    directory.take(4); // time and date
    entry.crc = directory.u32();
    entry.packed = directory.u32();
    entry.unpacked = directory.u32();
    const uint16_t name = directory.u16(), extra = directory.u16(), comment = directory.u16();
    directory.take(2 + 2); // disk, internal attributes
    const uint32_t attributes = directory.u32();
    entry.begin = directory.u32();
    entry.name = directory.take(name);
    directory.take(extra);
    directory.take(comment);
    constexpr uint32_t file_kind = 0170000u << 16, link = 0120000u << 16;
    if ((attributes & file_kind) == link)
        throw Problem{DocumentProblem::Damaged, Text("its zip archive has a link, {0}", Text::escaped(entry.name)),
                      Text("get it from another place")};
    return entry;
}

// Compares the entry with its local header, and finds its end.
void check_local_header(std::string_view archive, ZipEntry& entry)
{
    if (entry.begin > archive.size()) damaged();
    Cursor local(archive.substr(entry.begin));
    local.expect("PK\x03\x04");
    local.take(2); // version
    const uint16_t flags = local.u16(), method = local.u16();
    local.take(4); // time and date
    const uint32_t crc = local.u32(), packed = local.u32(), unpacked = local.u32();
    const uint16_t name = local.u16(), extra = local.u16();
    if (local.take(name) != entry.name || method != entry.method) damaged();
    local.take(extra);
    local.take(entry.packed);
    const bool follow = (flags & has_descriptor) != 0; // CRC and sizes come after the data
    if (!follow && (crc != entry.crc || packed != entry.packed || unpacked != entry.unpacked)) damaged();
    constexpr uint64_t header_bytes = 30;
    entry.end = entry.begin + header_bytes + name + extra + entry.packed;
}

void check_method(const ZipEntry& entry)
{
    if ((entry.flags & (is_encrypted | is_strongly_encrypted)) != 0)
        throw Problem{DocumentProblem::Protected, Text("it is protected with a password"),
                      Text("save a copy without the password, and give that")};
    if (entry.method != stored && entry.method != deflated)
        throw Problem{DocumentProblem::Unsupported,
                      Text("its zip archive is packed with a method that is not known ({0})", entry.method),
                      Text("open it in the program that made it and save it anew")};
    if (entry.method == stored && entry.packed != entry.unpacked) damaged();
}

void check_overlaps(std::vector<ZipEntry>& entries, uint64_t directory_begin)
{
    std::ranges::sort(entries, {}, &ZipEntry::begin);
    uint64_t end = 0;
    for (const ZipEntry& entry : entries) {
        if (entry.begin < end) damaged();
        end = entry.end;
    }
    if (end > directory_begin) damaged();
}

} // namespace

std::vector<ZipEntry> checked_zip_directory(std::string_view archive)
{
    const Directory directory = find_directory(archive);
    if (directory.entries > most_entries)
        throw Problem{DocumentProblem::TooLarge,
                      Text("its zip archive has {0} entries, more than {1}", directory.entries, most_entries),
                      Text("get it from another place")};
    std::vector<ZipEntry> entries;
    std::unordered_set<std::string> names;
    Cursor cursor(directory.bytes);
    for (size_t i = 0; i < directory.entries; ++i) {
        ZipEntry entry = read_entry(cursor);
        check_name(entry.name);
        if (!names.insert(entry.name).second) damaged();
        check_method(entry);
        check_local_header(archive, entry);
        entries.push_back(std::move(entry));
    }
    check_overlaps(entries, static_cast<uint64_t>(directory.bytes.data() - archive.data()));
    return entries;
}

} // namespace palimpsest::reader
