#include "storage/known_pages.h"

#include <algorithm>
#include <array>
#include <fstream>
#include <string>
#include <string_view>

namespace palimpsest::storage {
namespace {

constexpr size_t searched_bytes = 2 << 20;

// As SQLite keeps what made them. Two of them are needed, because another program may have a table of the same
// name.
constexpr std::array<std::string_view, 6> known_sql{
    "CREATE TABLE document_blocks(", "CREATE TABLE snapshot_blocks(",         "CREATE TABLE indexed_documents(",
    "CREATE TABLE further_sources(", "CREATE INDEX snapshot_blocks_of_block", "CREATE INDEX messages_of_session"};

std::string beginning_of(const std::filesystem::path& file, size_t most)
{
    std::string bytes(most, '\0');
    std::ifstream in(file, std::ios::binary);
    in.read(bytes.data(), static_cast<std::streamsize>(bytes.size()));
    bytes.resize(static_cast<size_t>(std::max<std::streamsize>(in.gcount(), 0)));
    return bytes;
}

} // namespace

bool has_known_pages(const std::filesystem::path& database)
{
    for (const char* ending : {"", "-wal"}) {
        const std::string bytes = beginning_of(database.string() + ending, searched_bytes);
        const auto found = std::count_if(known_sql.begin(), known_sql.end(),
                                         [&](std::string_view sql) { return bytes.find(sql) != bytes.npos; });
        if (found >= 2) return true;
    }
    return false;
}

// The database file format (https://www.sqlite.org/fileformat2.html#the_database_header): the versions for writing
// and reading, and the schema format, big-endian.
bool has_damaged_header(const std::filesystem::path& database)
{
    constexpr size_t versions = 18, schema_format = 44, header_bytes = 100;
    const std::string bytes = beginning_of(database, header_bytes);
    if (bytes.size() < header_bytes || !bytes.starts_with("SQLite format 3")) return false;
    const auto is_between = [&](size_t at, int least, int most) { return bytes[at] >= least && bytes[at] <= most; };
    return !is_between(versions, 1, 2) || !is_between(versions + 1, 1, 2) || bytes[schema_format] != 0 ||
           bytes[schema_format + 1] != 0 || bytes[schema_format + 2] != 0 ||
           !is_between(schema_format + 3, 0, 4); // 0: its tables are in the log
}

} // namespace palimpsest::storage
