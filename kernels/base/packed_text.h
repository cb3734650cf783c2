// A Text of fixed layout, for structs that cross the interface to the CUDA plugin.
#pragma once

#include <cstdint>

#include "kernels/base/text.h"

namespace palimpsest {

struct PackedText {
    uint32_t size = 0;
    char bytes[1020] = ""; // as Text::packed() writes them; none: an empty Text
};

// A Text that does not fit becomes its English sentence, truncated.
PackedText pack(const Text& text);
// Bytes that pack() did not write are shown as they are, escaped.
Text unpack(const PackedText& packed);

} // namespace palimpsest
