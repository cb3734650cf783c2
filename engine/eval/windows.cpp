#include "engine/eval/windows.h"

#include <algorithm>
#include <cassert>

namespace palimpsest::engine {

std::vector<Window> windows_of(uint64_t tokens, uint64_t length, uint64_t stride)
{
    assert(stride >= 1 && stride <= length);
    std::vector<Window> windows;
    uint64_t judged = 0;
    for (uint64_t begin = 0; judged < tokens; begin += stride) {
        const uint64_t end = std::min(tokens, begin + length);
        windows.push_back({begin, end, judged});
        judged = end;
    }
    return windows;
}

} // namespace palimpsest::engine
