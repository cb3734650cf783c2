// The forward pass of a transformer over a budgeted cache, as ModelConfig describes it.
//
// Prefill runs in layer-major super-chunks: several chunks go through a layer before any goes through the next, so
// that the big products see many rows, while attention and eviction run chunk by chunk. The results are those of
// running chunk by chunk through all layers, bit for bit (performance.md, 4).
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <vector>

#include "engine/cache/kv_cache.h"
#include "engine/model/model.h"
#include "engine/model/rope_angles.h"
#include "engine/model/signal_buffers.h"
#include "engine/model/token_inputs.h"
#include "engine/model/token_outputs.h"
#include "engine/policy/policy.h"

namespace palimpsest::engine {

// What happens to the cache once a layer has attended: the session's side of a step.
class LayerStep {
public:
    virtual ~LayerStep() = default;
    // What the calls of attended that follow are about, in their order.
    virtual void shown(std::span<const kernels::SignalRequest> /*seen*/) {}
    // `rows` new tokens stand at the end of every list of the layer, the last `probe_rows` of them only for what
    // their attention shows: must take these back (KvCache::take_back). `seen` are the signals the policy asked
    // for, outputs in backend memory. Nothing is evicted yet.
    virtual void attended(int32_t layer, int32_t chunk, int32_t rows, int32_t probe_rows,
                          const kernels::SignalRequest& seen) = 0;
    // After attended of this layer, or of all layers if these are coupled; `rows` without the probe's. Must end the
    // chunk with KvCache::evict_chunk (prefill), evict_token (decode), or evict_resident.
    virtual void evict(int32_t layer, int32_t chunk, int32_t rows, kernels::Phase phase) = 0;

    // For a resident cache alone. A generated token, where what is queued for one token is recorded for all: the
    // plans of its layers, made before anything is queued; empty: it goes the way above.
    virtual std::span<const EvictionPlan> plans() const { return {}; }
    // Queues what follows the attention of a layer. All pointers are backend memory; `dropped` is [kv_heads,
    // stride], and no list ever gives up more than `stride`.
    virtual void queue(int32_t /*layer*/, const kernels::SignalRequest& /*seen*/, const uint32_t* /*plan*/,
                       uint32_t* /*dropped*/, int64_t /*stride*/)
    {
    }
    // After the token was queued, in the order of layers.
    virtual void queued(int32_t /*layer*/, int64_t /*stride*/) {}
};

// What a forward pass is made for.
struct TransformerShape {
    PositionMode positions = PositionMode::Contiguous;
    int32_t max_rows = 1;        // of one super-chunk, probes included
    int32_t max_ranks = 1;       // longest list, chunk and probe
    bool resident = false;       // the cache is
    int32_t token_leaving = 1;   // a resident list's ranks that leave after a token
    bool layers_first = false;   // prefill runs chunk by chunk through all layers before anything is evicted
    bool couples_layers = false; // so does decoding
    SignalNeeds signals{};
    std::optional<Retrieval> retrieval{};
    std::vector<bool> unwatched{}; // [layers] whose signals are not asked for, whatever `signals` says; empty: none
    int64_t reach = 1;             // positions stay below this, for the choice of rotary angles
};

class Transformer {
public:
    Transformer(const Model& model, const TransformerShape& shape); // the model must outlive this

    // Feeds `tokens`, cut into chunks of the given rows (their sum is the number of tokens). `first` is the stream
    // index of the first token. Every chunk is followed by the tokens of `probe`, rows that attend to what is kept,
    // to the chunk and to one another, and are not stored (LayerStep::attended). If layers go first, this REQUIRES
    // a single chunk and a cache that stages every layer; only then it can be stopped on the way: it returns false,
    // the cache is as before, and there are no logits.
    bool prefill(std::span<const TokenId> tokens, std::span<const int32_t> chunk_rows, uint64_t first,
                 std::span<const TokenId> probe, KvCache& cache, LayerStep& step, std::stop_token stop = {});
    void decode(TokenId token, uint64_t index, KvCache& cache, LayerStep& step);

    // What evicts a resident cache's tokens has moved: the next generated token is queued operation by operation.
    void record_anew()
    {
        recording_.reset();
        warm_ = false;
    }
    // Of a resident cache: waits for the last token's dropped ranks, if nobody has yet, and delivers them.
    void deliver(KvCache& cache);

    // The best logits after the last token, the largest first, if it was generated with a resident cache.
    struct BestLogits {
        std::span<const float> best;
        std::span<const int32_t> ids;
        int32_t first_bad = 0; // kernels::BestLogitsArgs
    };
    bool has_best_logits() const { return token_.is_queued(); }
    BestLogits best_logits();

    // Logits after the last prefill or decode: of its last token; or of tokens [begin, begin + count) of a prefill.
    void last_logits(std::vector<float>& logits);                          // [vocabulary]
    void logits(int64_t begin, int64_t count, std::vector<float>& logits); // [count, vocabulary]

    // Makes what retrieval knows of the cache anew; a cache that was not filled by this REQUIRES it.
    void bound_pages(KvCache& cache);

    size_t allocated_bytes() const;

private:
    struct Chunk {
        int64_t row = 0;    // of the super-chunk, where it begins
        int64_t token = 0;  // of the input, where it begins
        int32_t tokens = 0; // the probe's follow
    };
    std::span<const TokenId> lay_out(std::span<const TokenId> tokens, std::span<const int32_t> chunk_rows,
                                     std::span<const TokenId> probe);
    void embed(std::span<const TokenId> ids, const int32_t* resident_id);
    void project_qkv(int32_t layer);
    void prepare_heads(int32_t layer);
    int32_t window(int32_t layer) const; // of attention, where it hides anything
    bool watches(int32_t layer) const;
    bool downloads_signals() const; // evictions are chosen on the host, beside a device
    // Of lists that hold the step's `rows` tokens soon.
    kernels::SignalRequest signals_of(int32_t layer, int32_t rows, const KvCache& cache);
    kernels::SignalRequest attend_chunk(int32_t layer, const Chunk& chunk, uint64_t first, KvCache& cache);
    kernels::SignalRequest attend_token(int32_t layer, uint64_t index, KvCache& cache);
    void queue_logits(); // of a token, and the best of them
    void decode_resident(TokenId token, uint64_t index, KvCache& cache, LayerStep& step);
    bool fit_token(std::span<const EvictionPlan> plans, const KvCache& cache);
    void queue_token(KvCache& cache, LayerStep& step);
    static void attended_token(int32_t first, std::span<const kernels::SignalRequest> seen, LayerStep& step);
    void end_layer(int32_t layer, int32_t chunk, int32_t rows, KvCache& cache, LayerStep& step);
    void end_layers(int32_t rows, KvCache& cache, LayerStep& step);
    void bound_new_pages(int32_t layer, int64_t first, KvCache& cache);  // after ranks from `first` on came
    void bound_pages_from(int32_t layer, int64_t first, KvCache& cache); // REQUIRES: the layer retrieves
    void finish_layer(int32_t layer);                                    // output projection and feed-forward
    void feed_forward(int32_t layer);
    kernels::LinearArgs logits_args(const float* x, int64_t rows, kernels::Phase phase, float* logits) const;
    void prepare_angles(uint64_t first, int64_t positions);
    void send_angles(int64_t first, int64_t positions);
    // Of a chunk that starts at this token of the input.
    kernels::Rotation rotation(int32_t layer, int64_t token) const;
    int64_t floats_of_angles() const; // of one set
    bool retrieves(int32_t layer) const;
    int64_t pages_of_bounds() const;  // of one list
    int64_t floats_of_bounds() const; // of one layer
    kernels::PageBounds bounds_of(int32_t layer) const;
    kernels::PageRetrieval retrieval_of(int32_t layer) const;
    void compute_logits(int64_t row, int64_t count, kernels::Phase phase,
                        float* logits); // host [count, vocabulary]

    const Model* model_;
    kernels::HeadShape shape_;
    LayerAngles angles_;
    TransformerShape made_for_;
    SignalBuffers signals_;
    std::vector<Chunk> chunks_;                // of the last prefill
    std::vector<TokenId> with_probe_;          // its tokens and probes, as rows
    std::vector<kernels::SignalRequest> seen_; // its layers' signals, if layers go first
    int64_t rows_ = 0;                         // of the last call
    int32_t probe_rows_ = 0;
    kernels::Phase phase_ = kernels::Phase::Prefill;
    kernels::Buffer x_;     // f32 [max_rows, dim]
    kernels::Buffer qkv_;   // f32 [max_rows, qkv width]
    kernels::Buffer heads_; // f32 [max_rows, heads * head_dim]
    // f32 [sets of angles][positions, rotary_dim]; contiguous: from 0; original: of the last call's tokens
    kernels::Buffer rope_;
    int64_t rope_rows_ = 0;
    kernels::Buffer logits_; // f32 [rows at once, vocabulary]
    // Of a resident cache.
    TokenInputs inputs_;
    TokenOutputs token_;
    std::vector<int32_t> token_ranks_; // [kv_heads] that a list may have, as far as was recorded
    bool warm_ = false;                // a token went through before, with the same memory
    std::unique_ptr<kernels::Recording> recording_;
    std::vector<int32_t> retrieving_; // [layers] how many layers below retrieve too, or -1: it does not
    kernels::Buffer bounds_;          // f32 [layers that retrieve][kv_heads, pages][least, greatest][head_dim]
};

} // namespace palimpsest::engine
