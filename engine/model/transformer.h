// The forward pass of a Llama-like transformer over a budgeted cache.
//
// Prefill runs in layer-major super-chunks: several chunks go through a layer before any goes through the next, so
// that the big products see many rows, while attention and eviction run chunk by chunk. The results are those of
// running chunk by chunk through all layers, bit for bit (performance.md, 4).
#pragma once

#include <cstdint>
#include <span>
#include <stop_token>
#include <vector>

#include "engine/cache/kv_cache.h"
#include "engine/model/model.h"
#include "engine/model/rope_angles.h"
#include "engine/policy/policy.h"

namespace palimpsest::engine {

// What happens to the cache once a layer has attended: the session's side of a step.
class LayerStep {
public:
    virtual ~LayerStep() = default;
    // `rows` new tokens stand at the end of every list of the layer. `sums` [kv_heads, stride] are the attention
    // column sums the policy asked for, in backend memory, null if it asked for none. Must end the chunk with
    // KvCache::evict_chunk (prefill) or evict_token (decode).
    virtual void attended(int32_t layer, int32_t chunk, int32_t rows, kernels::Phase phase, const float* sums,
                          int64_t stride) = 0;
};

class Transformer {
public:
    // `max_rows`: rows of one super-chunk; `max_ranks`: longest list plus chunk. The model must outlive this.
    Transformer(const Model& model, PositionMode positions, int32_t max_rows, int32_t max_ranks,
                SignalNeeds signals);

    // Feeds `tokens`, cut into chunks of the given rows (their sum is the number of tokens, <= max_rows). `first`
    // is the stream index of the first token. With `coupled`, eviction of all layers follows the last layer, which
    // REQUIRES a single chunk and a cache that stages every layer; only then it can be stopped on the way: it
    // returns false, the cache is as before, and there are no logits.
    bool prefill(std::span<const TokenId> tokens, std::span<const int32_t> chunk_rows, uint64_t first,
                 KvCache& cache, bool coupled, LayerStep& step, std::stop_token stop = {});
    void decode(TokenId token, uint64_t index, KvCache& cache, LayerStep& step);

    // Logits after the last prefill or decode: of its last row; or of rows [begin, begin + count) of a prefill.
    void last_logits(std::vector<float>& logits);                          // [vocabulary]
    void logits(int64_t begin, int64_t count, std::vector<float>& logits); // [count, vocabulary]

    size_t allocated_bytes() const;

private:
    void project_qkv(int32_t layer);
    void attend_chunk(int32_t layer, int64_t row, int32_t rows, uint64_t first, KvCache& cache);
    void finish_layer(int32_t layer); // output projection and feed-forward
    void prepare_angles(uint64_t first, int64_t rows);
    kernels::Rotation rotation(int64_t row) const; // of a chunk that starts at this row of the super-chunk
    kernels::SignalRequest request(int32_t layer) const;
    float* sums_of(int32_t layer) const;
    void compute_logits(int64_t begin, int64_t count, kernels::Phase phase, std::vector<float>& logits);

    const Model& model_;
    kernels::HeadShape shape_;
    RopeAngles angles_;
    PositionMode positions_;
    SignalNeeds signals_;
    int64_t ranks_;    // width of a row of sums_
    int64_t rows_ = 0; // of the last call
    kernels::Phase phase_ = kernels::Phase::Prefill;
    kernels::Buffer x_;     // f32 [max_rows, dim]
    kernels::Buffer qkv_;   // f32 [max_rows, qkv width]
    kernels::Buffer heads_; // f32 [max_rows, heads * head_dim]
    kernels::Buffer sums_;  // f32 [layers, kv_heads, ranks], empty without signals
    kernels::Buffer rope_;  // f32 [positions, rotary_dim]; contiguous: from 0; original: of the last call's rows
    int64_t rope_rows_ = 0;
    kernels::Buffer logits_; // f32 [rows at once, vocabulary]
};

} // namespace palimpsest::engine
