#include <cstdint>
#include <string>

#include "app/reader/odt.h"
#include "tests/fuzz/parsed_document.h"
#include "tests/fuzz/plain_archive.h"

using namespace palimpsest;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size)
{
    const std::string bytes = fuzz::plain_archive(fuzz::as_text(data, size));
    fuzz::parse_checked([&](reader::TextWriter& writer) {
        reader::ZipArchive archive(bytes);
        parse_odt(archive, writer);
    });
    return 0;
}
