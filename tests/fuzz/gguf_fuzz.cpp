#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <span>

#include "engine/model/files/gguf_model.h"
#include "engine/model/files/gguf_summary.h"
#include "kernels/base/error.h"
#include "tests/support/fixtures/tiny_model.h"

using namespace palimpsest;

// Reads the bytes as a GGUF file. An accepted file must be readable to the last tensor byte, and must have a
// summary.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size)
{
    const auto summary = engine::summarize_gguf(std::as_bytes(std::span(data, size)));
    try {
        const auto file = engine::MappedFile::copy(std::as_bytes(std::span(data, size)), "fuzz.gguf");
        test::touch(engine::open_gguf(file));
        if (!summary) std::abort();
    } catch (const Error&) {
    }
    return 0;
}
