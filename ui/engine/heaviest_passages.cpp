#include "ui/engine/heaviest_passages.h"

#include <algorithm>

namespace palimpsest::ui {
namespace {

constexpr uint64_t passage_tokens = 96; // a short paragraph
constexpr size_t most_passages = 5;
constexpr double least_share = 0.02;   // of the attention to documents, for a passage to be a source
constexpr uint64_t resting_tokens = 4; // attention to the first tokens of the stream is ignored

// A token in a document; `end`: where a passage that begins at this token must end.
struct Attended {
    uint64_t token = 0, end = 0;
    double weight = 0;
};

std::vector<Attended> in_documents(const std::vector<engine::AttendedToken>& attended,
                                   const std::vector<StreamRange>& documents)
{
    std::vector<Attended> tokens;
    auto document = documents.begin();
    for (const engine::AttendedToken& token : attended) {
        while (document != documents.end() && document->last <= token.token)
            ++document;
        if (document == documents.end()) break;
        if (token.token < resting_tokens || token.token < document->first) continue;
        tokens.push_back({.token = token.token,
                          .end = std::min<uint64_t>(token.token + passage_tokens, document->last),
                          .weight = token.weight});
    }
    return tokens;
}

// Returns for each token the attention to the passage that begins there.
std::vector<double> sums_of_passages(const std::vector<Attended>& tokens)
{
    std::vector<double> sums(tokens.size());
    double sum = 0;
    for (size_t begin = 0, end = 0; begin < tokens.size(); ++begin) {
        for (; end < tokens.size() && tokens[end].token < tokens[begin].end; ++end)
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

// Returns the passage that begins at tokens[begin]; it ends after its last token with any attention.
StreamRange passage_at(const std::vector<Attended>& tokens, size_t begin)
{
    uint64_t last = tokens[begin].token;
    for (size_t i = begin; i < tokens.size() && tokens[i].token < tokens[begin].end; ++i)
        if (tokens[i].weight > 0) last = tokens[i].token;
    return {tokens[begin].token, last + 1};
}

} // namespace

std::vector<Provenance::Source> heaviest_passages(const std::vector<engine::AttendedToken>& attended,
                                                  const std::vector<StreamRange>& documents)
{
    const std::vector<Attended> tokens = in_documents(attended, documents);
    double all = 0;
    for (const Attended& token : tokens)
        all += token.weight;
    if (!(all > 0)) return {};
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

// Counts three caches (the session state, its copy without sums, the session created from it) and the attention
// matrix of one layer.
uint64_t trace_bytes(const engine::ModelConfig& model, const engine::Telemetry& session, uint64_t turn_tokens)
{
    const auto lists = static_cast<uint64_t>(model.layers) * static_cast<uint64_t>(model.kv_heads);
    const auto slots = static_cast<uint64_t>(session.slots_capacity) / std::max<uint64_t>(lists, 1) + turn_tokens;
    return 3 * session.cache_bytes + static_cast<uint64_t>(model.heads) * turn_tokens * slots * sizeof(float);
}

} // namespace palimpsest::ui
