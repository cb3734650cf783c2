#include <algorithm>
#include <cstdint>
#include <fstream>
#include <iterator>
#include <map>
#include <string>

#include "kernels/base/error.h"
#include "storage/database.h"
#include "tests/fuzz/parsed_document.h"
#include "tests/support/fixtures/scratch_folder.h"
#include "tests/support/project_folders.h"

using namespace palimpsest;

namespace {

// A database of the schema with this number, as an older program made it.
const std::string& sample(char schema)
{
    static std::map<char, std::string> samples;
    std::string& bytes = samples[schema];
    if (bytes.empty()) {
        const std::string name = std::string("tests/fixtures/databases/schema-") + schema + ".db";
        std::ifstream file(tests::source_file(name), std::ios::binary);
        bytes.assign(std::istreambuf_iterator<char>(file), {});
    }
    return bytes;
}

// The input is the file itself after 'r', or changes of a sample after the number of its schema: three bytes of
// position, one of length, and that many bytes.
std::string database_of(std::string_view input)
{
    if (input.empty()) return {};
    const char kind = input.front();
    input.remove_prefix(1);
    if (kind < '1' || kind > '6') return std::string(input);
    std::string bytes = sample(kind);
    constexpr size_t header = 4;
    while (input.size() > header) {
        const auto number = [&](size_t i) { return static_cast<size_t>(static_cast<unsigned char>(input[i])); };
        const size_t at = (number(0) | number(1) << 8 | number(2) << 16) % bytes.size();
        const size_t length = std::min({number(3), input.size() - header, bytes.size() - at});
        bytes.replace(at, length, input.substr(header, length));
        input.remove_prefix(header + length);
    }
    return bytes;
}

template<class Work>
void allow_error(const Work& work)
{
    try {
        work();
    } catch (const Error&) {
    }
}

} // namespace

// Opens the file in both ways, and checks all of it: each ends in order or with an Error.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size)
{
    const test::ScratchFolder folder;
    const std::filesystem::path file = folder.path() / "palimpsest.db";
    std::ofstream(file, std::ios::binary) << database_of(fuzz::as_text(data, size));
    std::filesystem::permissions(file, std::filesystem::perms::owner_read | std::filesystem::perms::owner_write);
    using storage::Database;
    allow_error([&] { Database(file, Database::Access::Read); });
    allow_error([&] { storage::check_integrity(file); });
    allow_error([&] { Database(file, Database::Access::Write); });
    return 0;
}
