#include <cstdint>

#include "app/reader/pdf.h"
#include "tests/fuzz/parsed_document.h"

using namespace palimpsest;

// The library keeps some of what it allocates for a damaged file. The reader ends with its document.
// NOLINTNEXTLINE(bugprone-reserved-identifier): AddressSanitizer's name for it
extern "C" const char* __asan_default_options()
{
    return "detect_leaks=0";
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size)
{
    fuzz::parse_checked([&](reader::TextWriter& writer) { reader::parse_pdf(fuzz::as_text(data, size), writer); });
    return 0;
}
