#include "engine/cache/token_list.h"

#include <algorithm>
#include <numeric>

namespace palimpsest::engine {
namespace {

// `values` holds `each` numbers per rank.
template<class T>
void drop_from(std::vector<T>& values, std::span<const uint32_t> ranks, std::ptrdiff_t each = 1)
{
    if (values.empty()) return;
    auto to = values.begin() + ranks.front() * each;
    for (size_t i = 0; i < ranks.size(); ++i) {
        const auto from = values.begin() + (std::ptrdiff_t{ranks[i]} + 1) * each;
        const auto end = i + 1 < ranks.size() ? values.begin() + ranks[i + 1] * each : values.end();
        to = std::copy(from, end, to);
    }
    values.resize(values.size() - ranks.size() * static_cast<size_t>(each));
}

template<class T>
void copy_into(std::vector<T>& to, const std::vector<T>& from)
{
    to.assign(from.begin(), from.end());
}

} // namespace

void TokenList::append(uint32_t first, int32_t rows, bool with_signals, int32_t moments_each)
{
    const size_t old = size();
    stream.resize(old + static_cast<size_t>(rows));
    std::iota(stream.begin() + static_cast<std::ptrdiff_t>(old), stream.end(), first);
    if (!with_signals) return;
    sum.resize(stream.size(), 0.0);
    count.resize(stream.size(), 0.0);
    moments.resize(stream.size() * static_cast<size_t>(moments_each), 0.0);
}

void TokenList::truncate(size_t tokens)
{
    if (!moments.empty()) moments.resize(moments.size() / size() * tokens);
    stream.resize(tokens);
    if (sum.empty()) return;
    sum.resize(tokens);
    count.resize(tokens);
}

void TokenList::drop(std::span<const uint32_t> ranks)
{
    if (ranks.empty()) return;
    drop_from(moments, ranks, std::ssize(moments) / std::ssize(stream));
    drop_from(stream, ranks);
    drop_from(sum, ranks);
    drop_from(count, ranks);
}

void TokenList::assign(const TokenList& other)
{
    copy_into(stream, other.stream);
    copy_into(sum, other.sum);
    copy_into(count, other.count);
    copy_into(moments, other.moments);
}

void TokenList::reserve(size_t tokens, bool with_signals, int32_t moments_each)
{
    stream.reserve(tokens);
    if (!with_signals) return;
    sum.reserve(tokens);
    count.reserve(tokens);
    moments.reserve(tokens * static_cast<size_t>(moments_each));
}

size_t TokenList::allocated_bytes() const
{
    return stream.capacity() * sizeof(uint32_t) +
           (sum.capacity() + count.capacity() + moments.capacity()) * sizeof(double);
}

} // namespace palimpsest::engine
