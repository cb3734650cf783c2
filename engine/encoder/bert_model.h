// The forward pass of a BERT encoder (Devlin et al. 2019, section 3) on the CPU: texts of tokens become hidden
// states.
//
// Cost per token: 4 layers width (2 width + ffn) operations in matrix products, and 4 layers width n in the
// attention of a text of n tokens, with layers heads n exponentials. For all-MiniLM-L6-v2 that is 21.2 million and
// 9,216 n operations: 23.6 million per token of a text of 256 tokens.
//
// The bits of a text's states depend neither on the other texts of a call nor on the number of threads.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <stop_token>
#include <vector>

#include "engine/encoder/bert_config.h"
#include "engine/encoder/bert_tensors.h"
#include "engine/text/subwords/vocabulary.h"
#include "kernels/backend.h"
#include "kernels/cpu/cpu_context.h"
#include "kernels/cpu/layer_norm.h"
#include "kernels/cpu/thread_pool.h"

namespace palimpsest::engine {

// Not thread-safe. Has as many threads as the backend for what that has no operation for; the two never work at the
// same time.
class BertModel {
public:
    // REQUIRES: `backend` is a CPU backend. It and what `tensors` refers to must outlive this. `max_rows`: tokens
    // of the largest call. Throws Error (Resources).
    BertModel(const BertConfig& config, const BertTensors& tensors, kernels::Backend& backend, int64_t max_rows);

    // Once a stop is requested, run() ends early, and its result is undefined.
    void set_stop(std::stop_token stop);

    // The hidden states after the last layer, [ids, width], valid until the next call. The texts follow one another
    // in `ids`, and text t has lengths[t] of them. REQUIRES: lengths are 1 to config.positions and add up to the
    // number of ids, at most max_rows.
    std::span<const float> run(std::span<const TokenId> ids, std::span<const int32_t> lengths);

private:
    struct Dense {
        std::unique_ptr<kernels::Weight> weight; // [out, in]
        std::vector<float> bias;                 // [out]
    };
    struct Norm {
        std::vector<float> weight, bias; // [width]
    };
    struct Layer {
        Dense qkv, output;
        Norm attention_norm;
        Dense up, down;
        Norm output_norm;
    };

    Dense load_dense(const BertTensors& tensors, std::initializer_list<std::string> names) const;
    void embed(std::span<const TokenId> ids, std::span<const int32_t> lengths);
    void attend(std::span<const int32_t> lengths);
    void multiply(const float* x, const Dense& dense, float* y, bool accumulate);
    void normalize(const Norm& norm);
    kernels::cpu::LayerNorm norm_of(const Norm& norm) const;
    template<class Body>
    void for_rows(const Body& body);

    const BertConfig config_;
    kernels::Backend& backend_;
    std::unique_ptr<kernels::Weight> words_; // [vocabulary, width]
    std::vector<float> positions_;           // [positions, width], with the embedding of token type 0 added
    Norm embedding_norm_;
    std::vector<Layer> layers_;

    kernels::Buffer x_;       // [max_rows, width]
    kernels::Buffer wide_;    // [max_rows, 3 width or ffn]: queries, keys, values; or the feed-forward layer
    kernels::Buffer context_; // [max_rows, width]: output of attention
    int64_t rows_ = 0;        // of the current call
    std::stop_token stop_;
    kernels::ThreadPool threads_;
    std::vector<kernels::Scratch> scratch_; // per thread
};

} // namespace palimpsest::engine
