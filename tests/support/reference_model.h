// Reference transformer, as ModelConfig describes it, with one list of entries per KV head: float64 and plain
// loops. Shares no code with the engine's forward pass, which tests compare with it.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "engine/model/files/model_files.h"

namespace palimpsest::tests {

class ReferenceModel {
public:
    explicit ReferenceModel(const engine::ModelFiles& files);
    const engine::ModelConfig& config() const { return config_; }

    struct Layer {
        std::vector<double> attention_norm, q, k, v, q_bias, k_bias, v_bias, q_norm, k_norm, output,
            post_attention_norm, ffn_norm, post_ffn_norm, router;
        struct FeedForward {
            std::vector<double> gate, up, down;
        };
        std::vector<FeedForward> experts; // one if the model has no experts
    };
    std::vector<double> embedding, output_norm, output;
    std::vector<Layer> layers;

private:
    engine::ModelConfig config_;
};

// One stream through the model. The caller decides what is evicted.
class ReferenceStream {
public:
    // `reach`: upper bound of positions, from which LongRoPE chooses its factors; 0: within the original context.
    ReferenceStream(const ReferenceModel& model, bool contiguous, int64_t reach = 0);

    struct Entry {
        uint32_t stream = 0;
        std::vector<double> key, value; // [head_dim]; key before RoPE
        std::vector<double> rotated{};  // rotated key, at position `rotated_at`
        uint64_t rotated_at = 0;
    };
    // Receives the attention of one row of the chunk on the entries of a list: [group][n]; entries that the row
    // does not attend to are 0. Is called for one row at a time, because a long chunk's matrix would not fit in
    // memory.
    using RowSink =
        std::function<void(int layer, int head, int row, const std::vector<std::vector<double>>& attention)>;
    // Returns, for each query head, the ranks to attend to, ascending. queries [group][d] and keys [n][d] are
    // rotated.
    using Retriever = std::function<std::vector<std::vector<int>>(
        int layer, const std::vector<std::vector<double>>& queries, const std::vector<std::vector<double>>& keys)>;

    // Computes one chunk with causal attention to the kept entries and itself, and appends its entries to every
    // list. Returns the logits after its last token.
    std::vector<double> feed(std::span<const int32_t> tokens, const RowSink& sink = {},
                             const Retriever& retriever = {});
    std::vector<Entry>& list(int layer, int head);
    void drop(int layer, int head, std::span<const uint32_t> ranks); // ascending
    // Sets key and value of rank `into` to the mean over the ranks `of`. The mean is taken of unrotated keys or, if
    // `rotated`, of keys rotated to their positions.
    void merge(int layer, int head, uint32_t into, std::span<const uint32_t> of, bool rotated = false);

private:
    using Vector = std::vector<double>;

    Vector rotate(int layer, const Vector& x, uint64_t position) const;
    Vector rotate_back(int layer, Vector x, uint64_t position) const;
    void prepare(const ReferenceModel::Layer& w, Vector& queries, Vector& keys) const;
    void append(int layer, size_t row, const Vector& keys, const Vector& values);
    void turn_keys(int layer);
    Vector attend(int layer, size_t row, size_t rows, const Vector& queries, const RowSink& sink,
                  const Retriever& retriever);
    // Adds the head's output to `out` and returns the attention weight of every entry.
    Vector attend_head(int layer, const std::vector<Entry>& entries, size_t visible, const Vector& query,
                       const std::vector<int>* ranks, double* out) const;
    Vector gated(const ReferenceModel::Layer::FeedForward& w, const Vector& x) const;
    void feed_forward(const ReferenceModel::Layer& w, Vector& x) const;

    const ReferenceModel& model_;
    bool contiguous_;
    uint64_t seen_ = 0;
    std::vector<std::vector<float>> inverse_frequencies_; // [layers][rotary_dim / 2]
    std::vector<std::vector<Entry>> lists_;               // [layers * kv_heads]
};

} // namespace palimpsest::tests
