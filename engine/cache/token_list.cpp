#include "engine/cache/token_list.h"

#include <algorithm>
#include <numeric>

namespace palimpsest::engine {
namespace {

template<class T>
void drop_from(std::vector<T>& values, std::span<const uint32_t> ranks)
{
    if (values.empty()) return;
    auto to = values.begin() + ranks.front();
    for (size_t i = 0; i < ranks.size(); ++i) {
        const auto from = values.begin() + ranks[i] + 1;
        const auto end = i + 1 < ranks.size() ? values.begin() + ranks[i + 1] : values.end();
        to = std::copy(from, end, to);
    }
    values.resize(values.size() - ranks.size());
}

} // namespace

void TokenList::append(uint32_t first, int32_t rows, bool with_signals)
{
    const size_t old = size();
    stream.resize(old + static_cast<size_t>(rows));
    std::iota(stream.begin() + static_cast<std::ptrdiff_t>(old), stream.end(), first);
    if (!with_signals) return;
    sum.resize(stream.size(), 0.0);
    count.resize(stream.size(), 0.0);
}

void TokenList::truncate(size_t size)
{
    stream.resize(size);
    if (sum.empty()) return;
    sum.resize(size);
    count.resize(size);
}

void TokenList::drop(std::span<const uint32_t> ranks)
{
    if (ranks.empty()) return;
    drop_from(stream, ranks);
    drop_from(sum, ranks);
    drop_from(count, ranks);
}

size_t TokenList::allocated_bytes() const
{
    return stream.capacity() * sizeof(uint32_t) + (sum.capacity() + count.capacity()) * sizeof(double);
}

} // namespace palimpsest::engine
