#include "engine/policy/prefix_suffix.h"

#include <numeric>

namespace palimpsest::engine {

void PrefixSuffix::select(int32_t, std::span<const Overfull> heads, std::vector<std::vector<uint32_t>>& dropped)
{
    for (size_t h = 0; h < heads.size(); ++h) {
        dropped[h].resize(heads[h].size - heads[h].budget);
        std::iota(dropped[h].begin(), dropped[h].end(), prefix_);
    }
}

} // namespace palimpsest::engine
