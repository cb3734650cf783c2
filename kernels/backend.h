// The one interface between the engine and whatever computes: about a dozen coarse, fused operations on whole
// layers.
//
// Memory. "Backend memory" is what Backend::allocate gives: ordinary memory on the CPU, device memory on a GPU.
// Every pointer in an argument struct is backend memory unless it is marked `host`. Only upload and download cross
// over.
//
// Numbers. Activations are f32, row-major. A row's result never depends on how many rows come with it, on the
// number of threads, or on the physical row a cached token lies in; sums run in a fixed order. Prefill and Decode
// may round differently: bits are a function of tokens, chunk boundaries and phase (architecture.md, contract 2 and
// 6).
//
// Threads. One caller at a time per backend.
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

// Zero-filled, 64-byte aligned backend memory, touched lazily. Must not outlive its backend.
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

// Rows of a weight as they lie in a file or in memory. `host`; the backend may keep pointing at it (CPU) or copy it
// (GPU), so it must live as long as the Weight.
struct HostMatrix {
    DType type = DType::F32;
    const std::byte* data = nullptr; // host [rows, cols], at least 2-byte aligned
    int64_t rows = 0;
    int64_t cols = 0; // a whole number of blocks of the type
    // > 0: rows come in heads of this many, stored as adjacent rotary pairs (2i, 2i+1), as GGUF has them for Llama.
    // Row numbers everywhere else are half-split (i, i + d/2).
    int32_t paired_head_dim = 0;
};

// Row-concatenation of matrices of equal width: [sum of rows, cols]. Immutable.
class Weight {
public:
    virtual ~Weight() = default;
    int64_t rows() const { return rows_; }
    int64_t cols() const { return cols_; }
    int64_t bytes() const { return bytes_; } // as read once per decoded token

protected:
    int64_t rows_ = 0, cols_ = 0, bytes_ = 0;
};

struct RmsNorm {
    const float* weight = nullptr; // [cols]; null: no norm
    float epsilon = 1e-5f;
};

// Changes every row of a product, bias included, before it is written or added: first the norm, then the factor,
// then the soft cap y = cap * tanh(y / cap).
struct RowFinish {
    RmsNorm norm{}; // over the row's whole width
    float factor = 1.0f;
    float soft_cap = 0.0f; // 0: none
    bool is_plain() const { return norm.weight == nullptr && factor == 1.0f && soft_cap == 0.0f; }
};

struct EmbedArgs {
    const Weight* table = nullptr;        // [vocabulary, dim]
    std::span<const int32_t> ids;         // host; each in [0, vocabulary)
    const int32_t* resident_id = nullptr; // backend memory: one id, instead of `ids`; where the backend selects
    float* y = nullptr;                   // [ids, dim]
    float factor = 1.0f;                  // multiplies every element
};

// y = finish(norm(x) W^T + bias), or y += with `accumulate`.
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

// A feed-forward layer of experts: every row takes the `used` experts with the largest router logits (ties: the
// lower number), weighted by the softmax over all experts, divided by the sum of the chosen weights with
// `renormalise`: x += factor * sum over the chosen e of weight_e * down_e(activation(g_e) * u_e).
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
// Pairs are half-split: (i, i + rotary_dim/2); dimensions from rotary_dim on are left alone.
struct RopeTable {
    const float* cos_sin = nullptr;
    int64_t positions = 0;
    int32_t rotary_dim = 0;
};

// How attention gets its positions (architecture.md, 4).
//  contiguous: keys lie un-rotated, the key at rank j is rotated at j, chunk row r at used + r; table row =
//  position. original:   keys were rotated on write; table row r belongs to chunk row r.
struct Rotation {
    RopeTable table;
    bool keys_rotated = false;
};

struct HeadShape {
    int32_t query_heads = 0;
    int32_t kv_heads = 0; // divides query_heads
    int32_t head_dim = 0;
    float scale = 0;    // of the logits, 1/sqrt(head_dim) for most models
    float soft_cap = 0; // > 0: a scaled logit s becomes soft_cap * tanh(s / soft_cap), before the mask
    int32_t group() const { return query_heads / kv_heads; }
    int64_t qkv_width() const { return static_cast<int64_t>(query_heads + 2 * kv_heads) * head_dim; }
};

// Normalises and scales queries and keys of qkv rows, in place, before they are staged or attended with.
struct PrepareHeadsArgs {
    HeadShape shape;
    float* qkv = nullptr; // [rows, qkv_width]; values are left alone
    int32_t rows = 0;
    RmsNorm query_norm{}, key_norm{};
    // False: each head by itself, weights [head_dim]. True: all heads of a row together, weights
    // [query_heads * head_dim] and [kv_heads * head_dim].
    bool across_heads = false;
    // Multiplies the first query_factor_dims numbers of every query head, after the norm: what a RoPE scaling wants
    // of the logits, squared, since keys are left as they are.
    float query_factor = 1.0f;
    int32_t query_factor_dims = 0;
};

inline constexpr int page_rows = 64;

// Keys and values of one session: pages of 64 rows, [pages, 64, head_dim] each, laid out as kv_page.h says. A key
// and its value share the row.
struct KvPool {
    DType type = DType::F16; // Q8_0: head_dim is a multiple of 32
    std::byte* keys = nullptr;
    std::byte* values = nullptr;
};

// The lists of one layer, one per KV head. Row x of a list lies in pool page pages[x / 64], row x % 64.
struct KvLists {
    const uint32_t* pages = nullptr; // [kv_heads, page_stride]
    int64_t page_stride = 0;
    const int32_t* used = nullptr; // host [kv_heads]: tokens in each list; lists may be ragged
    // Backend memory [kv_heads], for decode_attend of a backend that selects: what is read when the operation runs;
    // `used` then says how many there can be at most.
    const int32_t* resident_used = nullptr;
    // [kv_heads, order_stride]: a permutation of the list's rows. Rank j lies in row order[j] for j < used; the
    // rest are the free rows. Prefill operations REQUIRE the identity (see straighten).
    uint32_t* order = nullptr;
    int64_t order_stride = 0;
};

// The type a chunk is staged in: the pool's, but never less than 16 bits, so that attention within a chunk and the
// choice of what stays come before quantisation (performance.md, 6). `wide`: F16 or BF16.
constexpr DType staging_type(DType pool, DType wide)
{
    return pool == DType::Q8_0 ? wide : pool;
}

// A chunk's keys and values until the policy has chosen: [kv_heads, capacity, head_dim] each.
struct Staging {
    std::byte* keys = nullptr;
    std::byte* values = nullptr;
    int64_t capacity = 0;
    DType type = DType::F16; // staging_type of the pool
};

// A number that says how spread out an attention row a over v ranks is (policies.md, 4.7).
enum class RowStatistic : uint8_t {
    None,
    Entropy, // -sum a ln a / ln v; 0 for v = 1
    Gini,    // sum over i = 1..v of (2i - v - 1) a_(i) / (v sum a), ascending
    Density, // share of ranks with a >= 1/v
};

// Statistics of attention's probabilities A that a policy asks for (policies.md, 3.1): of the last `rows` rows,
// per rank of kept ++ chunk. A null output is not wanted; all are f32.
struct SignalRequest {
    static constexpr int32_t all = INT32_MAX;
    int32_t rows = 0; // 0: nothing
    // >= 0: every row is first divided by what it gives to all ranks but this many of the newest, unless that is 0
    // (not for row statistics).
    int32_t outside_newest = -1;
    float* sums = nullptr;       // [kv_heads, stride] sum of A over rows and the group
    float* low_counts = nullptr; // [kv_heads, stride] rows r that see the rank and give it less than 1/v_r, as the
                                 // mean over the group; v_r: ranks that row sees
    float* head_sums = nullptr;  // [query_heads, stride] sum of A over rows
    float* head_squares = nullptr; // [query_heads, stride] sum of A^2 over rows
    float* entropies = nullptr;    // [kv_heads, stride] sum of -A ln(A + 1e-10) over rows and the group
    int64_t stride = 0;
    RowStatistic row_statistic = RowStatistic::None;
    float* row_statistics = nullptr; // [query_heads] sum over rows
};

// Splits qkv rows (queries, keys, values side by side) and stores keys and values of the chunk.
struct StageArgs {
    HeadShape shape;
    const float* qkv = nullptr; // [rows, qkv_width]
    int32_t rows = 0;
    Staging staging;
    Rotation rotation; // rotates keys only if keys_rotated
};

// Attention of one chunk over the kept ranks and, causally, over itself.
struct AttendArgs {
    HeadShape shape;
    const float* qkv = nullptr; // [rows, qkv_width]; only the queries are read
    int32_t rows = 0;
    KvPool pool;
    KvLists lists;
    Staging staging;
    Rotation rotation;
    float* out = nullptr; // [rows, query_heads * head_dim]
    SignalRequest signals;
    // > 0: a row sees only the newest `window` ranks up to its own, itself included; signals count the others as
    // not seen.
    int32_t window = 0;
};

// Elementwise least and greatest of the rotated keys of every page of `page` ranks:
// f32 [kv_heads, page_stride][least, greatest][head_dim]. Only for lists that nothing leaves, where rank = row.
struct PageBounds {
    float* bounds = nullptr;
    int64_t page_stride = 0; // pages that fit, at most
    int32_t page = 16;       // ranks
};

// Refreshes the bounds of the pages that ranks [first, used) of every list lie in.
struct BoundPagesArgs {
    HeadShape shape;
    KvPool pool;
    KvLists lists;
    Rotation rotation; // contiguous: keys are turned by their ranks first
    int64_t first = 0;
    PageBounds pages;
};

// Attention of a token to a part of its list (policies.md, 4.15 and 4.16). Lists of at most `tokens` ranks, the new
// one included, are read whole. Of a longer one: the last page, and of the others the `most_pages` - 1 with the
// largest bound, sum over d of max(q_d least_d, q_d greatest_d), as the mean over the group; ties: the lower page.
// Then, with top_p > 0, whether the list is long or not, every query head attends only to the smallest set of the
// best of these ranks that holds this much of their softmax mass (ties: the lower rank; >= top_p - 1e-12).
// Ranks left out have A = 0, and count as seen. REQUIRES: bounds of every page but the last are fresh.
struct PageRetrieval {
    PageBounds pages; // bounds null: everything is read, whatever the rest says
    int32_t tokens = 0;
    int32_t most_pages = 0;
    double top_p = 0;
};

// Attention of one token: its key and value go to row order[used] of each list, then it attends to used + 1 ranks,
// its own as the pool holds it.
struct DecodeAttendArgs {
    HeadShape shape;
    const float* qkv = nullptr; // [qkv_width]
    KvPool pool;
    KvLists lists; // `used` as before this token
    Rotation rotation;
    float* out = nullptr;  // [query_heads * head_dim]
    SignalRequest signals; // of the one row
    PageRetrieval retrieval;
    int32_t window = 0; // as in AttendArgs; REQUIRES 0 with retrieval
};

// Ends a prefill chunk: of used + rows ranks the `kept` ones, ascending, become ranks 0, 1, ... in rows 0, 1, ...
// Rows of the pool move as they are; those from staging are quantised here where the pool is.
struct CompactArgs {
    HeadShape shape;
    KvPool pool;
    KvLists lists; // `used` as before the chunk
    Staging staging;
    const uint32_t* kept = nullptr; // host [kv_heads, kept_stride]
    int64_t kept_stride = 0;
    const int32_t* kept_count = nullptr; // host [kv_heads]
    // Backend memory, instead of `kept` and with its stride: what evict left there.
    const uint32_t* resident_kept = nullptr;
};

// Ends a decode step: takes ranks out of each order list; their rows become free.
struct DropArgs {
    int32_t kv_heads = 0;
    KvLists lists;                     // `used` counts the new token
    const uint32_t* dropped = nullptr; // host [kv_heads, dropped_stride], ascending
    int64_t dropped_stride = 0;
    const int32_t* dropped_count = nullptr; // host [kv_heads]
};

// Moves rows so that every order list is the identity again.
struct StraightenArgs {
    HeadShape shape;
    KvPool pool;
    KvLists lists;
};

// The largest logits of a token, so that sampling needs not all of them.
struct BestLogitsArgs {
    static constexpr int32_t most = 128;
    const float* logits = nullptr; // [count]
    int64_t count = 0;
    int32_t wanted = 0; // at most `most`, and at most count
    // [wanted] each, the largest first; of equal ones the lower id first. Undefined if `first_bad` is not `count`.
    float* best = nullptr;
    int32_t* ids = nullptr;
    int32_t* first_bad = nullptr; // one: the lowest id whose logit is not finite, or count
};

// One list's keys and values in rank order, for a snapshot: [used, head_dim] each, in the pool's type; of Q8_0 a
// row is its blocks (kv_page.h).
struct GatherArgs {
    HeadShape shape;
    KvPool pool;
    KvLists lists;
    int32_t head = 0;
    std::byte* keys = nullptr;   // host
    std::byte* values = nullptr; // host
};

// Memory of a device that has its own, in bytes.
struct DeviceMemory {
    uint64_t free = 0, total = 0;
};

// Super-chunks that pay, and that end in about the time a stop may take (reliability.md, P14).
struct AtOnce {
    double operations = 5e10; // attention left out
    int32_t rows = 512;       // at most
    bool bf16 = true;         // whether attention takes BF16 rows as fast as F16 rows
};

// The largest operations of a session, to know beforehand what working memory they claim.
struct WorkBounds {
    HeadShape heads;
    DType pool = DType::F16, staging = DType::F16;
    int64_t rows = 1; // of a super-chunk
    int64_t vocabulary = 0;
    int64_t width = 0, hidden = 0;       // of a row, and of it in the feed-forward layer
    int64_t chunk_rows = 1;              // that attend at a time
    int64_t ranks = 1;                   // of the longest list, the chunk included
    int64_t token_ranks = 1;             // of the longest list, a generated token included
    SignalRequest signals;               // as attention gets it; of its pointers only which are null is read
    PageRetrieval retrieval;             // likewise
    bool evicts = false;                 // by itself
    bool finishes = false;               // some product that is added to rows of `width` has a RowFinish
    std::span<const HostMatrix> weights; // of which only types and sizes are read
};

// Backend memory on its way to the host.
class Download {
public:
    virtual ~Download() = default;
    virtual void read(void* to_host) = 0; // once; waits for what was queued before it began, and for nothing else
};

// Of a backend that has done what it was asked for once a call returns.
class FinishedDownload final : public Download {
public:
    FinishedDownload(Backend& backend, const void* from, size_t bytes);
    void read(void* to_host) override { std::memcpy(to_host, bytes_.data(), bytes_.size()); }

private:
    std::vector<std::byte> bytes_;
};

// Operations that were recorded, to be run again on the same memory. Must not outlive its backend.
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
    virtual bool exact_products() const { return false; } // on the CPU: none with weights in fixed point
    // Working memory that operations have claimed so far, beside the Buffers; shared by all callers, and only
    // grows.
    virtual uint64_t scratch_bytes() const = 0;

    // Only for a device with its own memory; the next three functions tell what it will be asked for.
    virtual std::optional<DeviceMemory> memory() const { return std::nullopt; }
    virtual uint64_t weight_bytes(std::span<const HostMatrix> /*parts*/) const { return 0; } // that load takes
    virtual uint64_t scratch_bound(const WorkBounds& /*work*/) const { return 0; }
    virtual void reserve(const WorkBounds& /*work*/) {} // claims it now; throws Error (Resources)

    virtual AtOnce at_once() const { return {}; }

    virtual void upload(void* to, const void* from_host, size_t bytes) = 0;
    virtual void download(void* to_host, const void* from, size_t bytes) = 0;
    virtual void copy(void* to, const void* from, size_t bytes) = 0; // within backend memory
    // What lies there once the operations before have run, whatever comes after. Must not outlive its backend.
    virtual std::unique_ptr<Download> begin_download(const void* from, size_t bytes)
    {
        return std::make_unique<FinishedDownload>(*this, from, bytes);
    }

    // Once a stop of this token is requested, operations may end early, and what they leave in their outputs has no
    // meaning: for a forward pass that will be thrown away. A default token ends that. Backends whose operations
    // are short may do nothing.
    virtual void set_stop(std::stop_token stop) = 0;

    virtual std::unique_ptr<Weight> load(std::span<const HostMatrix> parts) = 0;

    virtual void embed(const EmbedArgs& args) = 0;
    virtual void linear(const LinearArgs& args) = 0;
    virtual void feed_forward(const FeedForwardArgs& args) = 0;
    virtual void prepare_heads(const PrepareHeadsArgs& args) = 0;
    // Whether experts can be computed; the operation REQUIRES it.
    virtual bool has_experts() const { return false; }
    virtual void experts(const ExpertsArgs& /*args*/) {}
    virtual void stage(const StageArgs& args) = 0;
    virtual void attend(const AttendArgs& args) = 0;
    virtual void decode_attend(const DecodeAttendArgs& args) = 0;
    virtual void bound_pages(const BoundPagesArgs& args) = 0;
    virtual void compact(const CompactArgs& args) = 0;
    virtual void drop(const DropArgs& args) = 0;
    virtual void straighten(const StraightenArgs& args) = 0;
    virtual void gather(const GatherArgs& args) = 0;
    // The same one after the other, where a backend need not wait for each.
    virtual void gather_all(std::span<const GatherArgs> lists)
    {
        for (const GatherArgs& args : lists)
            gather(args);
    }

    // Whether it evicts by itself (eviction.h) and records operations. What follows REQUIRES it.
    virtual bool selects() const { return false; }
    virtual void accumulate(const AccumulateArgs& /*args*/) {}
    virtual void evict(const EvictArgs& /*args*/) {}
    virtual void best_logits(const BestLogitsArgs& /*args*/) {}
    // Runs nothing: keeps what `operations` call, of embed with resident_id, linear and feed_forward with
    // Phase::Decode, prepare_heads, decode_attend with resident_used, accumulate, evict, best_logits and copy.
    // Argument structs are taken as they are now, backend memory is read when they run. They must have run once
    // before, so that all working memory is there.
    // accumulate, evict and the signals of decode_attend may come beside what follows them, which REQUIRES that
    // nothing else recorded touches what they do: a layer's signals, statistics, order lists and plan.
    virtual std::unique_ptr<Recording> record(const std::function<void()>& /*operations*/) { return nullptr; }
    // False: nothing ran, since working memory has moved since; record again, after another run.
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
    std::string device = "auto"; // auto, cpu, cuda[:N]; auto: cpu, until the kernels were tried on cards
    int threads = 0;             // of the CPU; 0: physical cores
    std::string simd;            // empty: best found; else a target's name
    // On the CPU, true computes every product with quantised weights in f32. False lets a processor with AVX-512
    // VNNI take rows of prompts in 16-bit fixed point and decoded rows in 24 (base/fixed_point_types.h): faster, with
    // other bits. Processors with and without VNNI agree bit for bit on a SIMD target only with true.
    bool exact_products = false;
};

// Throws Error: Usage for no device or target, with the list of what is; NotFound or Resources for a GPU.
std::unique_ptr<Backend> open_backend(const BackendChoice& choice = {});

} // namespace palimpsest::kernels
