// Feeds lists of stream indices, sums and counts through an engine policy, without a model.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "engine/policy/policy.h"

namespace palimpsest::tests {

// Sets the sum and count of one entry after a chunk; `chunk` is the chunk's number, from 0.
using ScoreEntry = std::function<void(int layer, int head, int chunk, uint32_t stream, double& sum, double& count)>;

void no_scores(int layer, int head, int chunk, uint32_t stream, double& sum, double& count);
// One score per token, layer and head, the same in every chunk. A small `values` limits the number of distinct
// scores, so that ties occur.
ScoreEntry constant_scores(uint64_t seed, uint64_t values);
// Sums and counts that grow from chunk to chunk.
ScoreEntry growing_scores(uint64_t seed, uint64_t values);

// All signals of a stream without a model. In each chunk an entry receives one value per query head: its moments
// accumulate the values, its sum accumulates their mean, so that moments and sums agree.
struct SyntheticSignals {
    static constexpr int group = 2; // query heads per KV head
    using Received = std::array<double, group>;

    ScoreEntry score = no_scores; // gives sums and counts, for policies that need no moments
    bool by_rows = false;         // also computes those sums and counts from received()
    uint64_t seed = 1, values = 1 << 20;
    // The values of one row, and the row statistic of a layer; random if empty.
    std::function<Received(int layer, int head, int chunk, uint32_t stream)> given{};
    std::function<double(int layer, int chunk)> given_statistic{};

    Received received(int layer, int head, int chunk, uint32_t stream) const;
    float entropy(int layer, int head, int chunk, uint32_t stream) const; // of one row, summed over the group
    double row_statistic(int layer, int chunk) const;
};

struct StreamShape {
    int layers = 1;
    int heads = 1;
    int budget = 1;
    engine::Pins pins{};
    int context = std::numeric_limits<int>::max();
    int chunk = 0;
};

engine::PolicyContext context_of(const StreamShape& shape);

class PolicyStream {
public:
    PolicyStream(const std::string& spec, StreamShape shape, SyntheticSignals signals);
    PolicyStream(const std::string& spec, StreamShape shape, ScoreEntry score = no_scores)
        : PolicyStream(spec, std::move(shape), SyntheticSignals{.score = std::move(score)})
    {
    }

    // Feeds one chunk: append, score, observe, evict. Fails the test if the evicted ranks do not ascend or are
    // outside the list, or if a list keeps more than the policy allows.
    void feed(int tokens);
    // Ends the reading, which schedule=once waits for, and evicts.
    void end_prefill();
    // Feeds `tokens` tokens in chunks of `chunk`; the last one may be shorter.
    void feed_all(int tokens, int chunk);
    // Returns a copy that continues the same lists with another policy.
    PolicyStream with(std::unique_ptr<engine::Policy> policy) const;

    engine::Policy& policy() { return *policy_; }
    const std::vector<uint32_t>& kept(int layer, int head) const { return list(layer, head).stream; }
    // Tokens that the last chunk evicted from the list.
    const std::vector<uint32_t>& evicted(int layer, int head) const { return list(layer, head).evicted; }
    std::vector<std::vector<uint32_t>> all_kept() const;
    // Merges of the last chunk that joined two or more entries, as stream indices: the one that received the mean,
    // then all that were merged, itself included.
    const std::vector<std::vector<uint32_t>>& merged(int layer, int head) const { return list(layer, head).merged; }
    // The words of the policy's state after version and number of layers.
    std::vector<uint32_t> state_words() const;

private:
    struct List {
        std::vector<uint32_t> stream;
        std::vector<double> sum;
        std::vector<double> count;
        std::vector<double> moments; // [n, group, 2]
        std::vector<uint32_t> evicted;
        std::vector<std::vector<uint32_t>> merged;
    };

    PolicyStream() = default;
    const List& list(int layer, int head) const
    {
        return lists_.at(static_cast<size_t>(layer * shape_.heads + head));
    }
    List& list(int layer, int head) { return lists_.at(static_cast<size_t>(layer * shape_.heads + head)); }
    void append(int tokens);
    void score(int layer, int head);
    std::vector<engine::ListState> states(int layer) const;
    void observe(int layer, int rows);
    void evict(int layer);
    void check_budgets() const;
    static void merge(List& list, const engine::Merge& merge);
    static void drop(List& list, const std::vector<uint32_t>& ranks);

    StreamShape shape_;
    SyntheticSignals signals_;
    std::shared_ptr<engine::Policy> policy_;
    std::vector<List> lists_; // [layers * heads]
    uint32_t tokens_ = 0;
    int chunks_ = 0;
};

} // namespace palimpsest::tests
