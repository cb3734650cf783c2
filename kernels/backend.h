// The interface between the engine and the compute backends: coarse, fused operations on whole layers.
//
// Memory. "Backend memory" is memory from Backend::allocate: ordinary memory on the CPU, device memory on a GPU.
// Every pointer in an argument struct is backend memory unless it is marked `host`. Only uploads and downloads copy
// between the two.
//
// Numbers. Activations are f32, row-major. The result of a row never depends on how many rows are computed with it,
// on the number of threads, or on the physical row of a cached token; sums run in a fixed order. Prefill and Decode
// may round differently: the exact bits depend on tokens, chunk boundaries and phase (docs/architecture.md).
//
// Threads. A backend may be used by one thread at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "kernels/base/dtype.h"
#include "kernels/eviction.h"

namespace palimpsest::kernels {

enum class Phase : uint8_t { Prefill, Decode };

class Backend;

// Zero-filled, 64-byte aligned backend memory; pages are touched on first use. Must not outlive its backend.
class Buffer {
public:
    Buffer() = default;
    Buffer(Backend& owner, size_t bytes); // throws Error (Resources)
    Buffer(Buffer&& other) noexcept { *this = std::move(other); }
    Buffer& operator=(Buffer&& other) noexcept
    {
        std::swap(owner_, other.owner_);
        std::swap(data_, other.data_);
        std::swap(bytes_, other.bytes_);
        return *this;
    }
    ~Buffer();

    size_t bytes() const { return bytes_; }
    template<class T = std::byte>
    T* data() const
    {
        return static_cast<T*>(data_);
    }

private:
    Backend* owner_ = nullptr;
    void* data_ = nullptr;
    size_t bytes_ = 0;
};

// Rows of a weight as stored in a file or in memory. `host`. The backend may keep pointing at it (CPU) or copy it
// (GPU), so it must live as long as the Weight.
struct HostMatrix {
    DType type = DType::F32;
    const std::byte* data = nullptr; // host [rows, cols], at least 2-byte aligned
    int64_t rows = 0;
    int64_t cols = 0; // a whole number of blocks of the type
    // > 0: rows belong to heads of this many rows, stored as adjacent rotary pairs (2i, 2i+1), as in GGUF files for
    // Llama. Row numbers everywhere else are half-split (i, i + d/2).
    int32_t paired_head_dim = 0;
};

// Row-concatenation of matrices of equal width: [sum of rows, cols]. Immutable.
class Weight {
public:
    virtual ~Weight() = default;
    int64_t rows() const { return rows_; }
    int64_t cols() const { return cols_; }
    int64_t bytes() const { return bytes_; } // bytes read once per decoded token

protected:
    int64_t rows_ = 0, cols_ = 0, bytes_ = 0;
};

struct RmsNorm {
    const float* weight = nullptr; // [cols]; null: no norm
    float epsilon = 1e-5f;
};

// Applied to every row of a product, bias included, before the row is stored or added: first the norm, then the
// factor, then the soft cap y = cap * tanh(y / cap).
struct RowFinish {
    RmsNorm norm{}; // over the row's whole width
    float factor = 1.0f;
    float soft_cap = 0.0f; // 0: none
    bool is_plain() const { return norm.weight == nullptr && factor == 1.0f && soft_cap == 0.0f; }
};

struct EmbedArgs {
    const Weight* table = nullptr;      // [vocabulary, dim]
    std::span<const int32_t> ids;       // host; each in [0, vocabulary)
    const int32_t* device_id = nullptr; // backend memory: one id, instead of `ids`; REQUIRES selects()
    float* y = nullptr;                 // [ids, dim]
    float factor = 1.0f;                // multiplies every element
};

// y = finish(norm(x) W^T + bias); y += that with `accumulate`.
struct LinearArgs {
    const float* x = nullptr; // [rows, W.cols]
    int64_t rows = 0;
    RmsNorm norm;
    const Weight* weight = nullptr;
    const float* bias = nullptr; // [W.rows] or null
    float* y = nullptr;          // [rows, W.rows]
    bool accumulate = false;
    Phase phase = Phase::Prefill;
    RowFinish finish{};
};

// GeluTanh is the tanh approximation: 0.5 g (1 + tanh(sqrt(2 / pi) (g + 0.044715 g^3))).
enum class Activation : uint8_t { Silu, GeluTanh };

// x += finish(down(activation(g) * u)) with (g, u) = norm(x) gate_up^T.
struct FeedForwardArgs {
    float* x = nullptr; // [rows, dim]
    int64_t rows = 0;
    RmsNorm norm;
    const Weight* gate_up = nullptr; // [2 * ffn, dim]: gate rows, then up rows
    const Weight* down = nullptr;    // [dim, ffn]
    Phase phase = Phase::Prefill;
    Activation activation = Activation::Silu;
    RowFinish finish{};
};

// A mixture-of-experts feed-forward layer: x += factor * sum over the chosen e of weight_e * down_e(activation(g_e)
// * u_e). Every row chooses the `used` experts with the largest router logits (ties: the lower number). weight_e is
// the softmax over all experts; with `renormalise` it is divided by the sum of the chosen weights.
struct ExpertsArgs {
    float* x = nullptr; // [rows, dim]
    int64_t rows = 0;
    RmsNorm norm;
    const Weight* router = nullptr;         // [experts, dim]
    std::span<const Weight* const> gate_up; // host [experts], each [2 * ffn, dim]
    std::span<const Weight* const> down;    // host [experts], each [dim, ffn]
    int32_t used = 1;
    bool renormalise = true;
    float factor = 1.0f;
    Phase phase = Phase::Prefill;
    Activation activation = Activation::Silu;
};

// cos and sin of the rotary angles, f32 [positions, rotary_dim]: rotary_dim/2 cosines, then as many sines.
// Pairs are half-split: (i, i + rotary_dim/2); dimensions from rotary_dim on are not rotated.
struct RopeTable {
    const float* cos_sin = nullptr;
    int64_t positions = 0;
    int32_t rotary_dim = 0;
};

// How attention rotates queries and keys.
//  contiguous: keys are stored unrotated. The key at rank j is rotated by position j, the query of chunk row r by
//              position used + r; table row = position.
//  original:   keys are rotated when they are stored; table row r belongs to chunk row r.
struct Rotation {
    RopeTable table;
    bool keys_rotated = false;
};

struct HeadShape {
    int32_t query_heads = 0;
    int32_t kv_heads = 0; // divides query_heads
    int32_t head_dim = 0;
    float scale = 0;    // multiplies the logits; 1/sqrt(head_dim) in most models
    float soft_cap = 0; // > 0: a scaled logit s becomes soft_cap * tanh(s / soft_cap), before the mask
    int32_t group() const { return query_heads / kv_heads; }
    int64_t qkv_width() const { return static_cast<int64_t>(query_heads + 2 * kv_heads) * head_dim; }
};

// Normalises and scales the queries and keys of qkv rows, in place, before staging or attention.
struct PrepareHeadsArgs {
    HeadShape shape;
    float* qkv = nullptr; // [rows, qkv_width]; values are unchanged
    int32_t rows = 0;
    RmsNorm query_norm{}, key_norm{};
    // false: normalises each head separately, weights [head_dim]. true: normalises all heads of a row together,
    // weights [query_heads * head_dim] and [kv_heads * head_dim].
    bool across_heads = false;
    // Multiplies the first query_factor_dims elements of every query head after the norm. A RoPE scaling that
    // scales the logits uses this with the square of its factor, since keys are not scaled.
    float query_factor = 1.0f;
    int32_t query_factor_dims = 0;
};

inline constexpr int page_rows = 64;

// Keys and values of one session: pages of 64 rows, [pages, 64, head_dim] each, in the layout of kv_page.h. A key
// and its value have the same row number.
struct KvPool {
    DType type = DType::F16; // Q8_0: head_dim is a multiple of 32
    std::byte* keys = nullptr;
    std::byte* values = nullptr;
};

// The lists of one layer, one per KV head. Row x of a list is row x % 64 of pool page pages[x / 64].
struct KvLists {
    const uint32_t* pages = nullptr; // [kv_heads, page_stride]
    int64_t page_stride = 0;
    const int32_t* used = nullptr; // host [kv_heads]: tokens in each list; lengths may differ
    // Backend memory [kv_heads], for decode_attend of a backend that selects(): the number of tokens, read when the
    // operation runs; `used` is then an upper bound.
    const int32_t* device_used = nullptr;
    // [kv_heads, order_stride]: a permutation of the list's rows. For j < used, row order[j] holds rank j; the
    // remaining rows are free. Prefill operations REQUIRE the identity (see defragment).
    uint32_t* order = nullptr;
    int64_t order_stride = 0;
};

// The type of the staging buffer: that of the pool, but at least 16 bits, so that attention within a chunk and the
// policy's choice see keys and values before quantisation. `wide`: F16 or BF16.
constexpr DType staging_type(DType pool, DType wide)
{
    return pool == DType::Q8_0 ? wide : pool;
}

// Staging buffer: a chunk's keys and values until the policy has chosen, [kv_heads, capacity, head_dim] each.
struct Staging {
    std::byte* keys = nullptr;
    std::byte* values = nullptr;
    int64_t capacity = 0;
    DType type = DType::F16; // staging_type of the pool
};

// A measure of how spread out an attention row `a` over v ranks is (docs/policies-spec.md, pyramidkv).
enum class RowStatistic : uint8_t {
    None,
    Entropy, // -sum a ln a / ln v; 0 for v = 1
    Gini,    // sum over i = 1..v of (2i - v - 1) a_(i) / (v sum a), ascending
    Density, // share of ranks with a >= 1/v
};

// The signals that a policy requests, per rank of the list followed by the chunk: statistics of the attention
// probabilities A of the last `rows` rows, and signals of keys. Outputs that are null are not computed; all are
// f32.
struct SignalRequest {
    static constexpr int32_t all = INT32_MAX;
    int32_t rows = 0; // 0: no signals
    // >= 0: every row is first divided by the sum of its probabilities outside the newest `outside_newest` ranks,
    // unless that sum is 0 (does not apply to row statistics).
    int32_t outside_newest = -1;
    float* sums = nullptr;       // [kv_heads, stride] sum of A over rows and the group
    float* low_counts = nullptr; // [kv_heads, stride] number of rows r that see the rank and whose A, averaged over
                                 // the group, is below 1/v_r; v_r: ranks visible to the row
    float* head_sums = nullptr;  // [query_heads, stride] sum of A over rows
    float* head_squares = nullptr; // [query_heads, stride] sum of A^2 over rows
    float* entropies = nullptr;    // [kv_heads, stride] sum of -A ln(A + 1e-10) over rows and the group
    // [kv_heads, stride] L2 norm of the key of every row of this call, whatever `rows` is, and 0 for older ranks.
    // Of the f32 keys in qkv: neither rotation, which changes no norm, nor the type of the pool has an effect.
    float* key_norms = nullptr;
    // [kv_heads, stride] mean of the cosines between the key of every rank and all keys of the list, its own
    // included. Of the keys as they are stored, in the types of pool and staging buffer, and rotated only if they
    // are stored rotated. A key without length has cosines of 0.
    float* key_similarities = nullptr;
    int64_t stride = 0;
    RowStatistic row_statistic = RowStatistic::None;
    float* row_statistics = nullptr; // [query_heads] sum over rows

    // The output that is accumulated for each entry of a list, and the number that it is divided by.
    const float* columns() const
    {
        const float* of_keys = key_norms ? key_norms : key_similarities;
        return low_counts ? low_counts : of_keys ? of_keys : sums;
    }
    int32_t column_divisor(int32_t group) const { return columns() == sums ? group : 1; }
};

// Splits qkv rows (queries, keys, values side by side) and writes the chunk's keys and values to the staging
// buffer.
struct StageArgs {
    HeadShape shape;
    const float* qkv = nullptr; // [rows, qkv_width]
    int32_t rows = 0;
    Staging staging;
    Rotation rotation; // keys are rotated only if keys_rotated
};

// Attention of one chunk over its list and, causally, over itself.
struct AttendArgs {
    HeadShape shape;
    const float* qkv = nullptr; // [rows, qkv_width]; the queries are read, and the keys for key_norms
    int32_t rows = 0;
    KvPool pool;
    KvLists lists;
    Staging staging;
    Rotation rotation;
    float* out = nullptr; // [rows, query_heads * head_dim]
    SignalRequest signals;
    // > 0: a row attends only to the newest `window` ranks up to and including its own; for signals, the other
    // ranks are invisible to it.
    int32_t window = 0;
};

// Elementwise minimum and maximum of the rotated keys in every retrieval page of `page` ranks:
// f32 [kv_heads, page_stride][minimum, maximum][head_dim]. Only for lists without evictions, where rank = row.
struct PageBounds {
    float* bounds = nullptr;
    int64_t page_stride = 0; // capacity in retrieval pages
    int32_t page = 16;       // ranks
};

// Recomputes the bounds of the retrieval pages that contain ranks [first, used) of every list.
struct BoundPagesArgs {
    HeadShape shape;
    KvPool pool;
    KvLists lists;
    Rotation rotation; // contiguous: keys are first rotated by their ranks
    int64_t first = 0;
    PageBounds pages;
};

// Attention of a token to a part of its list (docs/policies-spec.md, quest and twilight). Lists of at most `tokens`
// ranks, the new one included, are read completely. In longer lists, the token attends to the last retrieval page
// and to the `max_pages` - 1 others with the largest bound, sum over d of max(q_d min_d, q_d max_d), averaged over
// the query group; ties: the lower page. With top_p > 0, lists of any length: every query head then attends only to
// the smallest set of these ranks, best first, whose softmax mass reaches top_p (ties: the lower rank; >= top_p -
// 1e-12). Ranks that are left out have A = 0 and count as visible. REQUIRES: the bounds of all but the last page
// are up to date.
struct PageRetrieval {
    PageBounds pages; // bounds null: retrieval is off, whatever the other members say
    int32_t tokens = 0;
    int32_t max_pages = 0;
    double top_p = 0;
};

// Attention of one token: its key and value are stored in row order[used] of each list, then it attends to used + 1
// ranks, including its own as stored in the pool.
struct DecodeAttendArgs {
    HeadShape shape;
    const float* qkv = nullptr; // [qkv_width]
    KvPool pool;
    KvLists lists; // `used` excludes this token
    Rotation rotation;
    float* out = nullptr;  // [query_heads * head_dim]
    SignalRequest signals; // of this one row
    PageRetrieval retrieval;
    int32_t window = 0; // as in AttendArgs; REQUIRES 0 with retrieval
};

// Ends a prefill chunk: of the used + rows ranks, the `kept` ones, ascending, become ranks 0, 1, ... in rows 0, 1,
// ... Rows of the pool are moved unchanged; rows from staging are quantised if the pool is quantised.
struct CompactArgs {
    HeadShape shape;
    KvPool pool;
    KvLists lists; // `used` excludes the chunk
    Staging staging;
    const uint32_t* kept = nullptr; // host [kv_heads, kept_stride]
    int64_t kept_stride = 0;
    const int32_t* kept_count = nullptr; // host [kv_heads]
    // Backend memory, instead of `kept` and with the same stride: the output of evict.
    const uint32_t* device_kept = nullptr;
};

// Ends a decode step: removes ranks from each order list; their rows become free.
struct DropArgs {
    int32_t kv_heads = 0;
    KvLists lists;                     // `used` includes the new token
    const uint32_t* dropped = nullptr; // host [kv_heads, dropped_stride], ascending
    int64_t dropped_stride = 0;
    const int32_t* dropped_count = nullptr; // host [kv_heads]
};

// Defragments: moves rows so that every order list is the identity again.
struct DefragmentArgs {
    HeadShape shape;
    KvPool pool;
    KvLists lists;
};

// The largest logits of a token, so that sampling does not have to download all of them.
struct BestLogitsArgs {
    static constexpr int32_t most = 128;
    const float* logits = nullptr; // [count]
    int64_t count = 0;
    int32_t wanted = 0; // at most `most`, and at most count
    // [wanted] each, by descending logit; ties: the lower id first. Undefined if `first_bad` is less than `count`.
    float* best = nullptr;
    int32_t* ids = nullptr;
    int32_t* first_bad = nullptr; // [1] the lowest id whose logit is not finite, or count
};

// Copies one list's keys and values in rank order, for a snapshot: [used, head_dim] each, in the pool's type; a
// Q8_0 row is stored as its blocks (kv_page.h).
struct GatherArgs {
    HeadShape shape;
    KvPool pool;
    KvLists lists;
    int32_t head = 0;
    std::byte* keys = nullptr;   // host
    std::byte* values = nullptr; // host
};

// Memory of a device with its own memory, in bytes.
struct DeviceMemory {
    uint64_t free = 0, total = 0;
};

// The recommended size of a super-chunk: large enough to be efficient, small enough that a stop takes effect in
// time.
struct AtOnce {
    double operations = 5e10; // at most; attention not counted
    int32_t rows = 512;       // at most
    bool bf16 = true;         // attention is as fast with BF16 rows as with F16 rows
};

// The largest operations of a session, from which a backend computes the working memory it needs.
struct WorkBounds {
    HeadShape heads;
    DType pool = DType::F16, staging = DType::F16;
    int64_t rows = 1; // of a super-chunk
    int64_t vocabulary = 0;
    int64_t width = 0, hidden = 0; // of a row; of a row in the feed-forward layer
    int64_t chunk_rows = 1;        // rows that attend at a time
    int64_t ranks = 1;             // of the longest list, a chunk included
    int64_t token_ranks = 1;       // of the longest list, a generated token included
    SignalRequest signals;         // as passed to attention; pointers are only compared with null
    PageRetrieval retrieval;       // likewise
    bool evicts = false;           // the backend evicts by itself
    bool finishes =
        false; // an accumulating product into activations [rows, width] has a RowFinish and needs scratch
    std::span<const HostMatrix> weights; // only types and sizes are read
};

// An asynchronous copy from backend memory to the host.
class Download {
public:
    virtual ~Download() = default;
    virtual void read(void* to_host) = 0; // call once; waits only for operations queued before it began
};

// A Download for backends whose operations are complete when the call returns: copies at once.
class FinishedDownload final : public Download {
public:
    FinishedDownload(Backend& backend, const void* from, size_t bytes);
    void read(void* to_host) override { std::memcpy(to_host, bytes_.data(), bytes_.size()); }

private:
    std::vector<std::byte> bytes_;
};

// A recorded sequence of operations that can be run again on the same memory. Must not outlive its backend.
class Recording {
public:
    virtual ~Recording() = default;
};

class Backend {
public:
    virtual ~Backend() = default;

    virtual std::string name() const = 0;        // "cpu", "cuda:0"
    virtual std::string simd_target() const = 0; // "AVX3", "sm_90"; results differ in the last bits between targets
    virtual int threads() const = 0;
    virtual bool exact_products() const { return false; } // CPU: no weights in fixed point
    // Bytes of working memory that operations have allocated so far, not counting Buffers; shared by all callers,
    // and never shrinks.
    virtual uint64_t scratch_bytes() const = 0;

    // The next four functions are for devices with their own memory: its size, and what a session will need of it.
    virtual std::optional<DeviceMemory> memory() const { return std::nullopt; }
    virtual uint64_t weight_bytes(std::span<const HostMatrix> /*parts*/) const { return 0; } // needed by load
    virtual uint64_t scratch_bound(const WorkBounds& /*work*/) const { return 0; }
    virtual void reserve(const WorkBounds& /*work*/) {} // allocates scratch_bound() now; throws Error (Resources)

    virtual AtOnce at_once() const { return {}; }

    virtual void upload(void* to, const void* from_host, size_t bytes) = 0;
    virtual void download(void* to_host, const void* from, size_t bytes) = 0;
    virtual void copy(void* to, const void* from, size_t bytes) = 0; // within backend memory
    // Starts a copy of the memory's contents as of all operations queued so far; later operations do not affect it.
    // Must not outlive its backend.
    virtual std::unique_ptr<Download> begin_download(const void* from, size_t bytes)
    {
        return std::make_unique<FinishedDownload>(*this, from, bytes);
    }

    // Once a stop of this token is requested, operations may end early and leave their outputs undefined; the
    // caller discards the results of the forward pass. A default-constructed token disables this. Backends with
    // short operations may ignore it.
    virtual void set_stop(std::stop_token stop) = 0;

    virtual std::unique_ptr<Weight> load(std::span<const HostMatrix> parts) = 0;

    virtual void embed(const EmbedArgs& args) = 0;
    virtual void linear(const LinearArgs& args) = 0;
    virtual void feed_forward(const FeedForwardArgs& args) = 0;
    virtual void prepare_heads(const PrepareHeadsArgs& args) = 0;
    // Whether experts() is implemented; calling it REQUIRES this.
    virtual bool has_experts() const { return false; }
    virtual void experts(const ExpertsArgs& /*args*/) {}
    virtual void stage(const StageArgs& args) = 0;
    virtual void attend(const AttendArgs& args) = 0;
    virtual void decode_attend(const DecodeAttendArgs& args) = 0;
    virtual void bound_pages(const BoundPagesArgs& args) = 0;
    virtual void compact(const CompactArgs& args) = 0;
    virtual void drop(const DropArgs& args) = 0;
    virtual void defragment(const DefragmentArgs& args) = 0;
    virtual void gather(const GatherArgs& args) = 0;
    // Gathers several lists; a backend may override this to avoid a host wait for each.
    virtual void gather_all(std::span<const GatherArgs> lists)
    {
        for (const GatherArgs& args : lists)
            gather(args);
    }

    // Whether the backend evicts by itself (eviction.h) and records operations. The functions below REQUIRE it.
    virtual bool selects() const { return false; }
    virtual void accumulate(const AccumulateArgs& /*args*/) {}
    virtual void evict(const EvictArgs& /*args*/) {}
    virtual void best_logits(const BestLogitsArgs& /*args*/) {}
    // Records the operations that `operations` calls, without running them: embed with device_id, linear and
    // feed_forward with Phase::Decode, prepare_heads, decode_attend with device_used, accumulate, evict,
    // best_logits and copy. Argument structs are copied now, backend memory is read at replay. The operations must
    // have run once before, so that all working memory is allocated. accumulate, evict and the signals of
    // decode_attend may run concurrently with the operations recorded after them. This REQUIRES that no other
    // recorded operation accesses the same memory: a layer's signals, statistics, order lists and plan.
    virtual std::unique_ptr<Recording> record(const std::function<void()>& /*operations*/) { return nullptr; }
    // false: nothing ran, because working memory was reallocated; run the operations once more and record them
    // again.
    virtual bool replay(const Recording& /*recording*/) { return false; }

private:
    friend class Buffer;
    virtual void* allocate(size_t bytes) = 0; // throws Error (Resources)
    virtual void release(void* data, size_t bytes) noexcept = 0;
};

inline FinishedDownload::FinishedDownload(Backend& backend, const void* from, size_t bytes) : bytes_(bytes)
{
    backend.download(bytes_.data(), from, bytes);
}

inline Buffer::Buffer(Backend& owner, size_t bytes)
    : owner_(&owner), data_(bytes ? owner.allocate(bytes) : nullptr), bytes_(bytes)
{
}

inline Buffer::~Buffer()
{
    if (data_) owner_->release(data_, bytes_);
}

struct BackendChoice {
    std::string device = "auto"; // auto, cpu, cuda[:N]; auto means cpu
    int threads = 0;             // of the CPU; 0: physical cores
    std::string simd;            // empty: the best available, else the name of a target
    // CPU only. true: computes every product with quantised weights in f32. false: a processor with AVX-512 VNNI
    // uses 16-bit fixed point in prefill and 24-bit in decode (base/fixed_point_types.h), which is faster but gives
    // other bits. Processors with and without VNNI agree bit for bit on a SIMD target only if this is true.
    bool exact_products = false;
};

// Throws Error: Usage for an unknown device or target, with the list of valid ones; NotFound or Resources for a
// GPU.
std::unique_ptr<Backend> open_backend(const BackendChoice& choice = {});

} // namespace palimpsest::kernels
