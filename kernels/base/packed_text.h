// A Text of fixed layout, for structs that cross the interface to the CUDA plugin.
#pragma once

#include <cstdint>

#include "kernels/base/text.h"

namespace palimpsest {

struct PackedText {
    uint32_t size = 0;
    char bytes[1020] = ""; // written by Text::packed(); size 0: an empty Text
};

// If the Text does not fit, packs its English sentence, truncated.
PackedText pack(const Text& text);
// If pack() did not write the bytes, returns a Text that shows them escaped.
Text unpack(const PackedText& packed);

} // namespace palimpsest
