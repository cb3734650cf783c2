#include <cstdint>

#include "app/reader/zip_archive.h"
#include "app/reader/zip_directory.h"
#include "tests/fuzz/parsed_document.h"

using namespace palimpsest;

// Reads every entry of the archive.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size)
{
    const std::string_view bytes = fuzz::as_text(data, size);
    fuzz::parse_checked([&](reader::TextWriter& writer) {
        writer.begin("zip");
        reader::ZipArchive archive(bytes);
        for (const reader::ZipEntry& entry : reader::checked_zip_directory(bytes))
            if (const auto content = archive.read(entry.name)) writer.block(*content);
    });
    return 0;
}
