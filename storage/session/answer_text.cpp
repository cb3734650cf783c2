#include "storage/session/answer_text.h"

namespace palimpsest::storage {

const char* end_name(engine::GenerateEnd end)
{
    switch (end) {
    case engine::GenerateEnd::EndOfText:
        return "end_of_text";
    case engine::GenerateEnd::Length:
        return "length";
    case engine::GenerateEnd::Stopped:
        return "stop";
    case engine::GenerateEnd::Cancelled:
        return "cancelled";
    case engine::GenerateEnd::Full:
        return "full";
    }
    return "";
}

} // namespace palimpsest::storage
