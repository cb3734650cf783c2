#include <cstddef>
#include <cstdint>
#include <span>

#include "engine/model/gguf_model.h"
#include "kernels/base/error.h"
#include "tests/support/fixtures/tiny_model.h"

using namespace palimpsest;

// A whole GGUF file. What is accepted must be readable to the last tensor byte.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size)
{
    try {
        const auto file = engine::MappedFile::copy(std::as_bytes(std::span(data, size)), "fuzz.gguf");
        test::touch(engine::open_gguf(file));
    } catch (const Error&) {
    }
    return 0;
}
