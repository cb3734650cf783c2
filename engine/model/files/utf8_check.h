#pragma once

#include <string_view>

#include "engine/text/unicode/utf8.h"

namespace palimpsest::engine {

inline bool is_valid_utf8(std::string_view text)
{
    Utf8Decoder decoder;
    bool all_valid = true;
    const auto sink = [&](char32_t, size_t, bool valid) { all_valid = all_valid && valid; };
    for (const char c : text)
        decoder.push(static_cast<unsigned char>(c), sink);
    decoder.finish(sink);
    return all_valid;
}

} // namespace palimpsest::engine
