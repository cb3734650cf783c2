// The forward pass described by a ModelConfig, over a cache with a budget.
//
// Prefill runs in layer-major super-chunks: several chunks pass through one layer before the next layer starts, so
// that matrix products have many rows, while attention and eviction run chunk by chunk. The results are
// bit-identical to running chunk by chunk through all layers.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <vector>

#include "engine/cache/kv_cache.h"
#include "engine/model/forward/layer_eviction.h"
#include "engine/model/forward/rope_angles.h"
#include "engine/model/forward/signal_buffers.h"
#include "engine/model/forward/token_inputs.h"
#include "engine/model/forward/token_outputs.h"
#include "engine/model/model.h"
#include "engine/policy/policy.h"

namespace palimpsest::engine {

// The sizes and modes that a Transformer is built for.
struct TransformerShape {
    PositionMode positions = PositionMode::Contiguous;
    int32_t max_rows = 1;              // per super-chunk, question rows included
    int32_t max_ranks = 1;             // longest list, chunk and question rows included
    bool resident = false;             // the cache is device-resident
    int32_t max_dropped_per_token = 1; // most ranks that a device-resident list drops per generated token
    bool layers_first = false;         // prefill computes all layers of a chunk before anything is evicted
    bool couples_layers = false;       // decode computes all layers before anything is evicted
    SignalNeeds signals{};
    std::optional<Retrieval> retrieval{};
    std::vector<bool>
        layers_without_signals{}; // [layers] whose signals are not requested, whatever `signals` says; empty: none
    int64_t reach = 1;            // positions stay below this; selects the rotary angles
};

class Transformer {
public:
    Transformer(const Model& model, const TransformerShape& shape); // the model must outlive this

    // Computes `tokens`, divided into chunks of `chunk_rows` tokens (the sum is tokens.size()). `first` is the
    // stream index of the first token. The question rows `question` follow each chunk; they attend to the cache, to
    // the chunk and to one another, and are not stored. With layers_first, REQUIRES a single chunk and a cache that
    // stages every layer. Only then does `stop` have an effect: prefill returns false, the cache is unchanged, and
    // there are no logits.
    bool prefill(std::span<const TokenId> tokens, std::span<const int32_t> chunk_rows, uint64_t first,
                 std::span<const TokenId> question, KvCache& cache, LayerEviction& eviction,
                 const std::stop_token& stop = {});
    void decode(TokenId token, uint64_t index, KvCache& cache, LayerEviction& eviction);

    // Discards the recording. Call this when memory that eviction uses has moved.
    void discard_recording()
    {
        recording_.reset();
        warm_ = false;
    }
    // Device-resident caches: downloads the last token's dropped ranks, unless already done, and passes them to
    // `eviction`.
    void set_dropped_ranks(LayerEviction& eviction);

    // The best logits of the last generated token, largest first. REQUIRES: has_best_logits.
    struct BestLogits {
        std::span<const float> best;
        std::span<const int32_t> ids;
        int32_t first_bad = 0; // as in kernels::BestLogitsArgs
    };
    bool has_best_logits() const { return token_.is_queued(); }
    BestLogits best_logits();

    // Logits of the last token of the last prefill or decode; or of tokens [begin, begin + count) of the last
    // prefill.
    void last_logits(std::vector<float>& logits);                          // [vocabulary]
    void logits(int64_t begin, int64_t count, std::vector<float>& logits); // [count, vocabulary]

    // Recomputes the bounds of all retrieval pages (kernels::PageBounds). Required for a cache that another object
    // filled.
    void bound_pages(KvCache& cache);

    size_t allocated_bytes() const;

private:
    struct Chunk {
        int64_t row = 0;    // first row, in the super-chunk
        int64_t token = 0;  // first token, in the input
        int32_t tokens = 0; // without the question rows after them
    };
    std::span<const TokenId> layout_rows(std::span<const TokenId> tokens, std::span<const int32_t> chunk_rows,
                                         std::span<const TokenId> question);
    void embed(std::span<const TokenId> ids, const int32_t* device_id);
    void project_qkv(int32_t layer);
    void prepare_heads(int32_t layer);
    int32_t window(int32_t layer) const; // attention window in tokens; 0: none
    bool watches(int32_t layer) const;
    bool downloads_signals() const; // the backend is a device, but the host chooses evictions
    // `rows`: new tokens and question rows, which the lists do not contain yet.
    kernels::SignalRequest signals_of(int32_t layer, int32_t rows, const KvCache& cache);
    AttendedLayer attend_chunk(int32_t layer, const Chunk& chunk, uint64_t first, KvCache& cache);
    AttendedLayer attend_token(int32_t layer, uint64_t index, KvCache& cache);
    void queue_logits(); // logits of a generated token, then the best of them
    void decode_on_device(TokenId token, uint64_t index, KvCache& cache, LayerEviction& eviction);
    bool fit_token(std::span<const EvictionPlan> plans, const KvCache& cache);
    void queue_token(KvCache& cache, LayerEviction& eviction);
    void evict(int32_t chunk, KvCache& cache, LayerEviction& eviction);  // evicts from the layers in attended_
    void bound_new_pages(int32_t layer, int64_t first, KvCache& cache);  // ranks from `first` on are new
    void bound_pages_from(int32_t layer, int64_t first, KvCache& cache); // REQUIRES: retrieves(layer)
    void finish_layer(int32_t layer);                                    // output projection and feed-forward
    void feed_forward(int32_t layer);
    kernels::LinearArgs logits_args(const float* x, int64_t rows, kernels::Phase phase, float* logits) const;
    void prepare_angles(uint64_t first, int64_t positions);
    void send_angles(int64_t first, int64_t positions);
    // `token`: the first token of a chunk, counted in the input; 0 in decode.
    kernels::Rotation rotation(int32_t layer, int64_t token) const;
    int64_t floats_of_angles() const; // per set of angles
    bool retrieves(int32_t layer) const;
    int64_t pages_of_bounds() const;  // per list
    int64_t floats_of_bounds() const; // per layer
    kernels::PageBounds bounds_of(int32_t layer) const;
    kernels::PageRetrieval retrieval_of(int32_t layer) const;
    void compute_logits(int64_t row, int64_t count, kernels::Phase phase,
                        float* logits); // host [count, vocabulary]

    const Model* model_;
    kernels::HeadShape shape_;
    LayerAngles angles_;
    TransformerShape made_for_;
    SignalBuffers signals_;
    std::vector<Chunk> chunks_;           // of the last prefill
    std::vector<TokenId> with_question_;  // rows of the last prefill, if it had question rows
    std::vector<AttendedLayer> attended_; // layers whose eviction is pending
    std::vector<int64_t> old_lengths_;    // scratch of evict
    int64_t rows_ = 0;                    // of the last prefill or decode
    int32_t question_rows_ = 0;
    kernels::Phase phase_ = kernels::Phase::Prefill;
    kernels::Buffer x_;     // f32 [max_rows, dim]
    kernels::Buffer qkv_;   // f32 [max_rows, qkv width]
    kernels::Buffer heads_; // f32 [max_rows, heads * head_dim]
    // f32 [sets of angles][positions, rotary_dim]. Contiguous positions: from 0, uploaded once; original: those of
    // the tokens of the last prefill or decode.
    kernels::Buffer rope_;
    int64_t rope_rows_ = 0;
    kernels::Buffer logits_; // f32 [rows at once, vocabulary]
    // For generated tokens that are queued on a device.
    TokenInputs inputs_;
    TokenOutputs token_;
    std::vector<int32_t> token_ranks_; // [kv_heads] longest lists for which the recording is valid
    bool warm_ = false;                // a token was queued with the same memory: record the next
    std::unique_ptr<kernels::Recording> recording_;
    std::vector<int32_t> retrieving_; // [layers] index among the layers that retrieve, or -1
    kernels::Buffer bounds_;          // f32 [layers that retrieve][kv_heads, pages][min, max][head_dim]
};

} // namespace palimpsest::engine
