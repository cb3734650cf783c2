#include "engine/cache/token_lists.h"

namespace palimpsest::engine {

size_t TokenLists::allocated_bytes_of_lists() const
{
    size_t bytes = 0;
    for (const TokenList& list : lists_)
        bytes += list.allocated_bytes();
    return bytes;
}

} // namespace palimpsest::engine
