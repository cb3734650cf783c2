#include "engine/eval/haystack.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <numeric>
#include <string>
#include <string_view>

#include "engine/text/unicode/utf8.h"

namespace palimpsest::engine {
namespace {

bool is_space(char byte)
{
    return byte == ' ' || byte == '\n' || byte == '\t' || byte == '\r';
}

bool ends_with_mark(std::string_view text, std::initializer_list<std::string_view> marks)
{
    for (const std::string_view mark : marks)
        for (const std::string_view quote : {"", "\"", "'", ")", "\u201d", "\u2019", "\u300d"})
            if (text.ends_with(std::string(mark) + std::string(quote))) return true;
    return false;
}

// Whether a sentence ends between two texts; the stop of "3.14" ends none.
bool ends_sentence(std::string_view before, std::string_view after)
{
    if (before.ends_with('\n') || ends_with_mark(before, {"\u3002", "\uff01", "\uff1f"})) return true;
    return (after.empty() || is_space(after[0])) && ends_with_mark(before, {".", "!", "?"});
}

size_t place_of(const Tokenizer& tokenizer, std::span<const TokenId> text, size_t fixed, double depth)
{
    constexpr size_t most_back = 256;
    const auto at = fixed + static_cast<size_t>(std::llround(depth * static_cast<double>(text.size() - fixed)));
    const auto before = [&](size_t i) { // of a mark and a quote, which may be a token for each byte
        std::string surfaces;
        for (size_t k = i - std::min(i - fixed, size_t{6}); k < i; ++k)
            surfaces += tokenizer.surface(text[k]);
        return surfaces;
    };
    const auto after = [&](size_t i) { return i < text.size() ? tokenizer.surface(text[i]) : std::string(); };
    for (size_t i = at; i > fixed && at - i < most_back; --i)
        if (ends_sentence(before(i), after(i))) return i;
    if (at - fixed < most_back) return fixed;
    size_t whole = at; // no part of a character
    while (whole > fixed && is_utf8_continuation(after(whole)[0]))
        --whole;
    return whole;
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
