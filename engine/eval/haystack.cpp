#include "engine/eval/haystack.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <numeric>
#include <string_view>

namespace palimpsest::engine {
namespace {

bool ends_sentence(std::string_view surface)
{
    if (surface.find('\n') != surface.npos) return true;
    for (const std::string_view mark : {".", "!", "?", "\u3002", "\uff01", "\uff1f"})
        for (const std::string_view quote : {"", "\"", "'", ")", "\u201d", "\u2019", "\u300d"})
            if (surface.ends_with(std::string(mark) + std::string(quote))) return true;
    return false;
}

size_t place_of(const Tokenizer& tokenizer, std::span<const TokenId> text, size_t fixed, double depth)
{
    constexpr size_t most_back = 256;
    const auto at = fixed + static_cast<size_t>(std::llround(depth * static_cast<double>(text.size() - fixed)));
    for (size_t i = at; i > fixed && at - i < most_back; --i)
        if (ends_sentence(tokenizer.surface(text[i - 1]))) return i;
    return at - fixed < most_back ? fixed : at;
}

} // namespace

Haystack make_haystack(const Tokenizer& tokenizer, std::span<const TokenId> text, size_t fixed, size_t length,
                       std::span<const Insertion> insertions)
{
    const size_t inserted =
        std::accumulate(insertions.begin(), insertions.end(), size_t{0},
                        [](size_t sum, const Insertion& insertion) { return sum + insertion.tokens.size(); });
    assert(inserted + fixed < length && text.size() + inserted >= length);
    const auto own = text.first(length - inserted);
    std::vector<size_t> order(insertions.size()), places;
    std::iota(order.begin(), order.end(), 0);
    for (const Insertion& insertion : insertions)
        places.push_back(place_of(tokenizer, own, fixed, insertion.depth));
    std::ranges::stable_sort(order, {}, [&](size_t i) { return places[i]; });

    Haystack made;
    made.inserted.resize(insertions.size());
    size_t taken = 0;
    const auto take_up_to = [&](size_t end) {
        made.tokens.insert(made.tokens.end(), own.begin() + static_cast<ptrdiff_t>(taken),
                           own.begin() + static_cast<ptrdiff_t>(end));
        taken = end;
    };
    for (const size_t i : order) {
        take_up_to(places[i]);
        const auto begin = static_cast<uint32_t>(made.tokens.size());
        made.tokens.insert(made.tokens.end(), insertions[i].tokens.begin(), insertions[i].tokens.end());
        made.inserted[i] = {begin, static_cast<uint32_t>(made.tokens.size())};
    }
    take_up_to(own.size());
    return made;
}

} // namespace palimpsest::engine
