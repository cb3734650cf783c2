// Lists of stream indices, sums and counts, fed through an engine policy without a model.
#pragma once

#include <cstdint>
#include <functional>
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

struct StreamShape {
    int layers = 1;
    int heads = 1;
    int budget = 1;
    engine::Pins pins{};
};

class PolicyStream {
public:
    PolicyStream(const std::string& spec, StreamShape shape, ScoreEntry score = no_scores);

    // One chunk: append, score, evict. Fails the test if the ranks that leave are not ascending and in the list.
    void feed(int tokens);
    // `tokens` in chunks of `chunk`, the last may be short.
    void feed_all(int tokens, int chunk);
    // The same lists, going on with another policy.
    PolicyStream with(std::unique_ptr<engine::Policy> policy) const;

    engine::Policy& policy() { return *policy_; }
    const std::vector<uint32_t>& kept(int layer, int head) const { return list(layer, head).stream; }
    // What left the list in the last chunk.
    const std::vector<uint32_t>& evicted(int layer, int head) const { return list(layer, head).evicted; }
    std::vector<std::vector<uint32_t>> all_kept() const;
    // The words of the policy's state behind version and layers.
    std::vector<uint32_t> state_words() const;

private:
    struct List {
        std::vector<uint32_t> stream;
        std::vector<double> sum;
        std::vector<double> count;
        std::vector<uint32_t> evicted;
    };

    PolicyStream() = default;
    const List& list(int layer, int head) const
    {
        return lists_.at(static_cast<size_t>(layer * shape_.heads + head));
    }
    void append(int tokens);
    void evict(int layer);
    static void drop(List& list, const std::vector<uint32_t>& ranks);

    StreamShape shape_;
    ScoreEntry score_;
    std::shared_ptr<engine::Policy> policy_;
    std::vector<List> lists_; // [layers * heads]
    uint32_t tokens_ = 0;
    int chunks_ = 0;
};

} // namespace palimpsest::tests
