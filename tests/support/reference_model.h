// A Llama-like transformer over per-head kept lists, in float64 and plain loops: slow, obvious, sharing no code
// with the engine's forward pass, which is held against it.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "engine/model/model_files.h"

namespace palimpsest::tests {

class ReferenceModel {
public:
    explicit ReferenceModel(const engine::ModelFiles& files);
    const engine::ModelConfig& config() const { return config_; }

    struct Layer {
        std::vector<double> attention_norm, q, k, v, q_bias, k_bias, v_bias, output, ffn_norm, gate, up, down;
    };
    std::vector<double> embedding, output_norm, output;
    std::vector<Layer> layers;

private:
    engine::ModelConfig config_;
};

// One stream through the model. The caller decides what stays.
class ReferenceStream {
public:
    ReferenceStream(const ReferenceModel& model, bool contiguous);

    struct Entry {
        uint32_t stream = 0;
        std::vector<double> key, value; // [head_dim], key un-rotated
    };
    struct Result {
        std::vector<std::vector<double>> logits; // [rows][vocabulary]
        std::vector<std::vector<std::vector<std::vector<double>>>>
            attention; // [layer * kv_heads + head][g][row][rank]
    };

    // One chunk: attends to what is kept and to itself, causally; its entries then stand at the end of every list.
    Result feed(std::span<const int32_t> tokens);
    std::vector<Entry>& list(int layer, int head);
    void drop(int layer, int head, std::span<const uint32_t> ranks); // ascending

private:
    std::vector<double> rotate(const std::vector<double>& x, uint64_t position) const;

    const ReferenceModel& model_;
    bool contiguous_;
    uint64_t seen_ = 0;
    std::vector<float> inverse_frequencies_;
    std::vector<std::vector<Entry>> lists_; // [layers * kv_heads]
};

} // namespace palimpsest::tests
