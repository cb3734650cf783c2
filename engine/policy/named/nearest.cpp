#include "engine/policy/named/nearest.h"

#include <algorithm>
#include <cctype>

namespace palimpsest::engine {

namespace {

std::string lowered(std::string_view text)
{
    std::string out(text);
    for (char& c : out)
        c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    return out;
}

// Damerau-Levenshtein distance (optimal string alignment).
size_t edit_distance(const std::string& a, const std::string& b)
{
    std::vector<std::vector<size_t>> d(a.size() + 1, std::vector<size_t>(b.size() + 1));
    for (size_t i = 0; i <= a.size(); ++i)
        d[i][0] = i;
    for (size_t j = 0; j <= b.size(); ++j)
        d[0][j] = j;
    for (size_t i = 1; i <= a.size(); ++i) {
        for (size_t j = 1; j <= b.size(); ++j) {
            const size_t change = a[i - 1] == b[j - 1] ? 0 : 1;
            d[i][j] = std::min({d[i - 1][j] + 1, d[i][j - 1] + 1, d[i - 1][j - 1] + change});
            const bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
            if (swapped) d[i][j] = std::min(d[i][j], d[i - 2][j - 2] + 1);
        }
    }
    return d[a.size()][b.size()];
}

} // namespace

std::string nearest(std::string_view word, const std::vector<std::string>& candidates)
{
    constexpr size_t longest = 64; // no name is longer; the cost is the product of the lengths
    if (word.size() > longest) return {};
    const std::string wanted = lowered(word);
    // A third of the letters may be wrong; beyond that a suggestion is a guess.
    size_t best = std::max<size_t>(1, wanted.size() / 3) + 1;
    std::string found;
    for (const auto& candidate : candidates) {
        const size_t distance = edit_distance(wanted, lowered(candidate));
        if (distance >= best) continue;
        best = distance;
        found = candidate;
    }
    return found;
}

} // namespace palimpsest::engine
