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
    if (count >= numbers.size()) return sum_of_all(numbers);
    std::vector<float> parted(numbers.begin(), numbers.end());
    const auto end = parted.begin() + static_cast<std::ptrdiff_t>(count);
    std::ranges::nth_element(parted, end, std::greater<>());
    return sum_of_all({parted.begin(), end});
}

// The share of a probe's attention that falls on the tokens which one list holds.
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

void add_scaled(const AttentionShare& share, double weight, AttentionShare& sum)
{
    sum.held += weight * share.held;
    sum.best += weight * share.best;
}

AttentionRecall nothing_yet(const Session& session)
{
    const ModelConfig& model = session.model().config();
    AttentionRecall recall;
    recall.lists.resize(static_cast<size_t>(model.layers * model.kv_heads));
    for (int32_t layer = 0; layer < model.layers; ++layer)
        recall.local.push_back(!session.policy().watches(layer));
    return recall;
}

// Sums over places that have evicted are divided by their number at the end.
void add_probe(const AttentionProbe& probe, const RetentionMap& kept, AttentionRecall& recall)
{
    const auto kv_heads = static_cast<size_t>(kept.kv_heads);
    const auto watched = static_cast<size_t>(std::ranges::count(recall.local, false)) * kv_heads;
    const double weight = 1.0 / static_cast<double>(watched);
    const auto is_local = [&](size_t list) { return recall.local[list / kv_heads]; };
    PlaceRecall place;
    for (size_t i = 0; i < kept.tokens.size(); ++i)
        place.has_evicted = place.has_evicted || (!is_local(i) && kept.tokens[i].size() < probe.tokens);
    for (size_t i = 0; i < kept.tokens.size(); ++i) {
        const ListRecall list(probe.received[i], probe.tokens);
        const AttentionShare share = list.share(kept.tokens[i]);
        if (place.has_evicted) add_scaled(share, 1, recall.lists[i]);
        if (is_local(i)) continue;
        add_scaled(share, weight, place.share);
        if (place.has_evicted) list.add_distances(kept.tokens[i], weight, recall);
    }
    recall.evicted += place.has_evicted ? 1 : 0;
    recall.places.push_back(place);
}

void divide(AttentionRecall& recall)
{
    const double places = static_cast<double>(std::max<size_t>(recall.evicted, 1));
    for (AttentionShare& list : recall.lists)
        list = {.held = list.held / places, .best = list.best / places};
    for (AttentionAtDistance& at : recall.by_distance)
        at = {.all = at.all / places, .held = at.held / places};
}

} // namespace

std::optional<AttentionRecall> attention_recall(Session& session, std::span<const TokenId> text,
                                                std::span<const AttentionProbe> probes, const FeedOptions& options)
{
    AttentionRecall recall = nothing_yet(session);
    uint64_t read = 0;
    for (const AttentionProbe& probe : probes) {
        if (!session.feed(text.subspan(read, probe.tokens - read), options)) return std::nullopt;
        read = probe.tokens;
        if (&probe == &probes.back() && !session.finish(options)) return std::nullopt;
        add_probe(probe, session.retention(), recall);
        if (options.stop.stop_requested()) return std::nullopt;
    }
    divide(recall);
    return recall;
}

} // namespace palimpsest::engine
