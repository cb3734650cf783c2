#include "storage/notes/note_plan.h"

#include <algorithm>

namespace palimpsest::storage {
namespace {

using Passages = std::span<const StoredPassage>;

uint64_t tokens_of(Passages passages)
{
    return passages.empty() ? 0 : passages.back().end_token - passages.front().first_token;
}

// The section that has most of the passages' tokens.
int64_t main_section(Passages passages)
{
    int64_t best = -1;
    uint64_t most = 0;
    for (size_t begin = 0, end = 0; begin < passages.size(); begin = end) {
        uint64_t tokens = 0;
        for (; end < passages.size() && passages[end].section == passages[begin].section; ++end)
            tokens += passages[end].tokens();
        if (tokens <= most) continue;
        most = tokens;
        best = passages[begin].section;
    }
    return best;
}

Stretch stretch_of(Passages passages)
{
    const StoredPassage &first = passages.front(), &last = passages.back();
    return {.first_token = first.first_token,
            .end_token = last.end_token,
            .first_byte = first.first_byte,
            .end_byte = last.end_byte,
            .section = main_section(passages)};
}

// Appends the stretches of passages that are one section, or several short ones.
void divide(Passages passages, std::vector<Stretch>& all)
{
    const uint64_t tokens = tokens_of(passages);
    const uint64_t parts =
        tokens <= NotePlan::max_tokens ? 1 : (tokens + NotePlan::part_tokens / 2) / NotePlan::part_tokens;
    const uint64_t begin = passages.front().first_token;
    for (uint64_t part = 1; part <= parts && !passages.empty(); ++part) {
        const uint64_t end = begin + tokens * part / parts;
        const auto after = std::find_if(passages.begin() + 1, passages.end(), [&](const StoredPassage& passage) {
            return passage.first_token + passage.tokens() / 2 >= end;
        });
        const auto count = part == parts ? passages.size() : static_cast<size_t>(after - passages.begin());
        all.push_back(stretch_of(passages.first(count)));
        passages = passages.subspan(count);
    }
}

} // namespace

std::vector<Stretch> NotePlan::of(std::span<const StoredPassage> passages)
{
    std::vector<Stretch> all;
    size_t begin = 0;
    for (size_t end = 1; end <= passages.size(); ++end) {
        const bool section_ends = end == passages.size() || passages[end].section != passages[end - 1].section;
        const bool is_enough = tokens_of(passages.subspan(begin, end - begin)) >= min_tokens;
        if (!section_ends || (!is_enough && end < passages.size())) continue;
        divide(passages.subspan(begin, end - begin), all);
        begin = end;
    }
    return all;
}

} // namespace palimpsest::storage
