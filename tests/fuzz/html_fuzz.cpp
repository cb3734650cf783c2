#include <cstdint>

#include "app/reader/html_text.h"
#include "tests/fuzz/parsed_document.h"

using namespace palimpsest;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size)
{
    fuzz::parse_checked([&](reader::TextWriter& writer) { reader::parse_html(fuzz::as_text(data, size), writer); });
    return 0;
}
