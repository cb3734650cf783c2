#include "engine/eval/attention_recall.h"

#include <algorithm>
#include <functional>
#include <numeric>

namespace palimpsest::engine {
namespace {

double sum_of_all(std::span<const float> numbers)
{
    return std::accumulate(numbers.begin(), numbers.end(), 0.0);
}

double sum_of_largest(std::span<const float> numbers, size_t count)
{
    std::vector<float> sorted(numbers.begin(), numbers.end());
    std::ranges::sort(sorted, std::greater<>());
    return sum_of_all(std::span(sorted).first(std::min(count, sorted.size())));
}

// What one list holds of the attention that its tokens receive in a probe.
class ListRecall {
public:
    ListRecall(std::span<const float> received, uint64_t tokens)
        : older_(received.first(tokens)), rows_(sum_of_all(received.subspan(tokens))),
          all_(rows_ + sum_of_all(older_))
    {
    }

    AttentionShare share(std::span<const uint32_t> kept) const
    {
        double held = rows_;
        for (const uint32_t token : kept)
            held += static_cast<double>(older_[token]);
        return {.held = held / all_, .best = (rows_ + sum_of_largest(older_, kept.size())) / all_};
    }

    void add_distances(std::span<const uint32_t> kept, double weight, AttentionRecall& recall) const
    {
        const double scale = weight / all_;
        recall.by_distance[0].all += scale * rows_;
        recall.by_distance[0].held += scale * rows_;
        for (size_t token = 0; token < older_.size(); ++token)
            recall.by_distance[bin(token)].all += scale * static_cast<double>(older_[token]);
        for (const uint32_t token : kept)
            recall.by_distance[bin(token)].held += scale * static_cast<double>(older_[token]);
    }

private:
    size_t bin(size_t token) const
    {
        const auto found = std::ranges::lower_bound(AttentionRecall::distances, older_.size() - token);
        return static_cast<size_t>(found - AttentionRecall::distances.begin());
    }

    std::span<const float> older_; // received by tokens before the rows
    double rows_, all_;
};

void add_probe(const AttentionProbe& probe, const RetentionMap& kept, double weight, AttentionRecall& recall)
{
    const double lists = static_cast<double>(probe.received.size());
    AttentionShare mean;
    for (size_t i = 0; i < probe.received.size(); ++i) {
        const ListRecall list(probe.received[i], probe.tokens);
        const AttentionShare share = list.share(kept.tokens[i]);
        recall.lists[i].held += weight * share.held;
        recall.lists[i].best += weight * share.best;
        mean.held += share.held / lists;
        mean.best += share.best / lists;
        list.add_distances(kept.tokens[i], weight / lists, recall);
    }
    recall.places.push_back(mean);
}

} // namespace

std::optional<AttentionRecall> attention_recall(Session& session, std::span<const TokenId> text,
                                                std::span<const AttentionProbe> probes, const FeedOptions& options)
{
    const ModelConfig& model = session.model().config();
    AttentionRecall recall;
    recall.lists.resize(static_cast<size_t>(model.layers * model.kv_heads));
    uint64_t read = 0;
    for (const AttentionProbe& probe : probes) {
        if (!session.feed(text.subspan(read, probe.tokens - read), options)) return std::nullopt;
        read = probe.tokens;
        if (&probe == &probes.back() && !session.finish(options)) return std::nullopt;
        add_probe(probe, session.retention(), 1.0 / static_cast<double>(probes.size()), recall);
    }
    return recall;
}

} // namespace palimpsest::engine
