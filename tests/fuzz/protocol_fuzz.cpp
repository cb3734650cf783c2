#include <algorithm>
#include <cstdint>
#include <vector>

#include "tests/fuzz/parsed_document.h"

using namespace palimpsest;

namespace {

struct Decoded {
    std::vector<storage::ReaderFrame> frames;
    bool is_refused = false;

    bool operator==(const Decoded&) const = default;
};

Decoded decoded(std::string_view bytes, size_t piece)
{
    Decoded result;
    storage::FrameDecoder decoder;
    try {
        for (; !bytes.empty(); bytes.remove_prefix(std::min(piece, bytes.size()))) {
            decoder.push(bytes.substr(0, piece));
            while (auto frame = decoder.next())
                result.frames.push_back(*std::move(frame));
        }
    } catch (const storage::FrameError&) {
        result.is_refused = true;
    }
    return result;
}

} // namespace

// Decodes arbitrary bytes as the messages of palimpsest-reader, as if an attacker controlled that process. The
// result is the same however the bytes are divided, and every message that is decoded is one that was sent.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size)
{
    const std::string_view bytes = fuzz::as_text(data, size);
    const Decoded whole = decoded(bytes, std::max<size_t>(size, 1));
    if (decoded(bytes, 1) != whole || decoded(bytes, 7) != whole) std::abort();
    for (const storage::ReaderFrame& frame : whole.frames)
        fuzz::check_message(frame);
    return 0;
}
