#include "app/reader/zip_archive.h"

#include <zip.h>

#include "app/reader/text_writer.h"
#include "app/reader/zip_directory.h"

namespace palimpsest::reader {
namespace {

using storage::DocumentProblem;

constexpr uint64_t mebibyte = uint64_t{1} << 20;
constexpr uint64_t largest_entry = 128 * mebibyte, largest_archive = 512 * mebibyte; // docs/validation.md, L10
constexpr uint64_t unpacked_freely = mebibyte, most_times = 200;

[[noreturn]] void refuse_entry(const std::string& name)
{
    throw Problem{DocumentProblem::Damaged,
                  Text("it is damaged: {0} in it cannot be unpacked", Text::escaped(name)),
                  Text("get it again, or open it in the program that made it and save it anew")};
}

[[noreturn]] void refuse_size(const Text& what)
{
    throw Problem{DocumentProblem::TooLarge, what, Text("divide it into several files")};
}

struct CloseFile {
    void operator()(zip_file_t* file) const { zip_fclose(file); }
};

} // namespace

void ZipArchive::Close::operator()(zip* archive) const
{
    zip_discard(archive);
}

ZipArchive::ZipArchive(std::string_view bytes)
{
    const std::vector<ZipEntry> entries = checked_zip_directory(bytes);
    zip_error_t error;
    zip_error_init(&error);
    zip_source_t* source = zip_source_buffer_create(bytes.data(), bytes.size(), 0, &error);
    if (source) archive_.reset(zip_open_from_source(source, ZIP_RDONLY, &error));
    if (!archive_) {
        if (source) zip_source_free(source);
        refuse_entry("the directory");
    }
    // The library must have found the same entries.
    std::unordered_map<std::string, const ZipEntry*> checked;
    for (const ZipEntry& entry : entries)
        checked.emplace(entry.name, &entry);
    const zip_int64_t count = zip_get_num_entries(archive_.get(), 0);
    if (count != static_cast<zip_int64_t>(entries.size())) refuse_entry("the directory");
    for (uint64_t i = 0; i < entries.size(); ++i) {
        zip_stat_t status;
        const char* name = zip_get_name(archive_.get(), i, ZIP_FL_ENC_RAW);
        const auto found = checked.find(name ? name : "");
        if (found == checked.end() || zip_stat_index(archive_.get(), i, 0, &status) != 0)
            refuse_entry("the directory");
        const ZipEntry& entry = *found->second;
        if (status.size != entry.unpacked || status.comp_size != entry.packed || status.crc != entry.crc ||
            status.comp_method != entry.method)
            refuse_entry(entry.name);
        entries_.emplace(entry.name, i);
    }
}

std::optional<std::string> ZipArchive::read(const std::string& name)
{
    const auto found = entries_.find(name);
    if (found == entries_.end()) return std::nullopt;
    zip_stat_t status;
    if (zip_stat_index(archive_.get(), found->second, 0, &status) != 0) refuse_entry(name);
    const std::unique_ptr<zip_file_t, CloseFile> file(zip_fopen_index(archive_.get(), found->second, 0));
    if (!file) refuse_entry(name);
    std::string out;
    constexpr size_t at_once = 64 * 1024;
    while (true) {
        const size_t before = out.size();
        out.resize(before + at_once);
        const zip_int64_t bytes = zip_fread(file.get(), out.data() + before, at_once);
        if (bytes < 0) refuse_entry(name);
        out.resize(before + static_cast<size_t>(bytes));
        if (bytes == 0) break;
        unpacked_ += static_cast<uint64_t>(bytes);
        if (out.size() > largest_entry)
            refuse_size(Text("{0} in it unpacks to more than 128 MiB, the limit", Text::escaped(name)));
        if (unpacked_ > largest_archive) refuse_size(Text("it unpacks to more than 512 MiB, the limit"));
        if (out.size() > unpacked_freely && out.size() > most_times * status.comp_size)
            refuse_size(Text("{0} in it unpacks to more than {1} times its size", Text::escaped(name), most_times));
    }
    return out;
}

} // namespace palimpsest::reader
