#include "engine/cache/cache_shape.h"

#include <algorithm>
#include <numeric>

namespace palimpsest::engine {

int64_t slots_of_limits(const CacheShape& shape)
{
    return std::accumulate(shape.list_budget.begin(), shape.list_budget.end(), int64_t{0});
}

int64_t longest_with_chunk(const CacheShape& shape)
{
    return *std::max_element(shape.list_budget.begin(), shape.list_budget.end()) + shape.staged_rows;
}

} // namespace palimpsest::engine
