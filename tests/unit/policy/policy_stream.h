// Lists of stream indices, sums and counts, fed through an engine policy without a model.
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

// Sets what one entry received by the end of a chunk; `chunk` counts from 0.
using ScoreEntry = std::function<void(int layer, int head, int chunk, uint32_t stream, double& sum, double& count)>;

void no_scores(int layer, int head, int chunk, uint32_t stream, double& sum, double& count);
// One score per token, layer and head, the same in every chunk; of few distinct values if `values` is small, so
// that ties occur.
ScoreEntry constant_scores(uint64_t seed, uint64_t values);
// Sums and counts that grow from chunk to chunk.
ScoreEntry growing_scores(uint64_t seed, uint64_t values);

// All that a stream without a model shows a policy. What one row of a chunk gives an entry per query head adds up
// to its moments, and the mean of them to its sum, so that they agree with each other.
struct SyntheticSignals {
    static constexpr int group = 2; // query heads per KV head
    using Received = std::array<double, group>;

    ScoreEntry score = no_scores; // sums and counts, for policies that ask for no moments,
    bool by_rows = false;         // unless they get what the rows give, too
    uint64_t seed = 1, values = 1 << 20;
    // Of one row, and the row statistic of a layer; random where empty.
    std::function<Received(int layer, int head, int chunk, uint32_t stream)> given{};
    std::function<double(int layer, int chunk)> given_statistic{};

    Received received(int layer, int head, int chunk, uint32_t stream) const;
    float entropy(int layer, int head, int chunk, uint32_t stream) const; // of the row, over the group
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

    // One chunk: append, score, observe, evict. Fails the test if the ranks that leave are not ascending and in the
    // list, or if more stays than the policy says.
    void feed(int tokens);
    // The last chunk was the reading's last: what schedule=once waited for.
    void end_reading();
    // `tokens` in chunks of `chunk`, the last may be short.
    void feed_all(int tokens, int chunk);
    // The same lists, going on with another policy.
    PolicyStream with(std::unique_ptr<engine::Policy> policy) const;

    engine::Policy& policy() { return *policy_; }
    const std::vector<uint32_t>& kept(int layer, int head) const { return list(layer, head).stream; }
    // What left the list in the last chunk.
    const std::vector<uint32_t>& evicted(int layer, int head) const { return list(layer, head).evicted; }
    std::vector<std::vector<uint32_t>> all_kept() const;
    // Stream indices of entries whose mean one of them, the first, took in the last chunk; of more than one entry.
    const std::vector<std::vector<uint32_t>>& merged(int layer, int head) const { return list(layer, head).merged; }
    // The words of the policy's state behind version and layers.
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
