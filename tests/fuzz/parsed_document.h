// Runs a parser of palimpsest-reader in this process, and checks that the parent would accept all that it writes.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <functional>
#include <string_view>

#include "app/reader/text_writer.h"
#include "storage/reader/frame.h"

namespace palimpsest::fuzz {

inline std::string_view as_text(const uint8_t* data, size_t size)
{
    return {reinterpret_cast<const char*>(data), size};
}

// Aborts if a message is not what the parent decodes.
inline void check_message(const storage::ReaderFrame& frame)
{
    storage::FrameDecoder decoder;
    decoder.push(encoded(frame));
    if (decoder.next() != frame || !decoder.is_between_messages()) std::abort();
}

inline void parse_checked(const std::function<void(reader::TextWriter&)>& parse)
{
    reader::TextWriter writer(check_message);
    try {
        parse(writer);
        writer.finish();
    } catch (const reader::Problem& problem) {
        writer.refuse(problem);
    }
}

} // namespace palimpsest::fuzz
