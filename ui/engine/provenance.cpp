#include "ui/engine/provenance.h"

#include <algorithm>

namespace palimpsest::ui {
namespace {

constexpr uint64_t passage_tokens = 96; // a short paragraph
constexpr size_t most_passages = 5;
constexpr double least_share = 0.02; // of what documents received
constexpr uint32_t resting_tokens = 4;

bool lies_in(uint32_t token, const std::vector<StreamRange>& ranges)
{
    return std::any_of(ranges.begin(), ranges.end(),
                       [&](const StreamRange& r) { return token >= r.first && token < r.last; });
}

// The sum of what follows each token within a passage's length, in the same document.
std::vector<double> sums_of_passages(const std::vector<engine::AttendedToken>& tokens)
{
    std::vector<double> sums(tokens.size());
    double sum = 0;
    for (size_t begin = 0, end = 0; begin < tokens.size(); ++begin) {
        for (; end < tokens.size() && tokens[end].token < tokens[begin].token + passage_tokens; ++end)
            sum += tokens[end].weight;
        sums[begin] = sum;
        sum -= tokens[begin].weight;
    }
    return sums;
}

bool overlaps(const StreamRange& a, const StreamRange& b)
{
    return a.first < b.last && b.first < a.last;
}

// Ends where attention does.
StreamRange passage_at(const std::vector<engine::AttendedToken>& tokens, size_t begin)
{
    uint64_t last = tokens[begin].token;
    for (size_t i = begin; i < tokens.size() && tokens[i].token < tokens[begin].token + passage_tokens; ++i)
        if (tokens[i].weight > 0) last = tokens[i].token;
    return {tokens[begin].token, last + 1};
}

} // namespace

std::vector<Provenance::Source> heaviest_passages(const std::vector<engine::AttendedToken>& attended,
                                                  const std::vector<StreamRange>& documents)
{
    std::vector<engine::AttendedToken> tokens;
    double all = 0;
    for (const engine::AttendedToken& token : attended) {
        if (token.token < resting_tokens || !lies_in(token.token, documents)) continue;
        tokens.push_back(token);
        all += token.weight;
    }
    const std::vector<double> sums = sums_of_passages(tokens);
    std::vector<size_t> order(tokens.size());
    for (size_t i = 0; i < order.size(); ++i)
        order[i] = i;
    std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return sums[a] > sums[b]; });

    std::vector<Provenance::Source> passages;
    for (const size_t begin : order) {
        if (passages.size() == most_passages || sums[begin] < least_share * all) break;
        const StreamRange range = passage_at(tokens, begin);
        if (std::none_of(passages.begin(), passages.end(),
                         [&](const Provenance::Source& p) { return overlaps(p.range, range); }))
            passages.push_back({.range = range, .weight = sums[begin] / all, .held = 0});
    }
    return passages;
}

} // namespace palimpsest::ui
