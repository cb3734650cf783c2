// What every CUDA kernel is handed: the device and its limits, one stream, and scratch memory that is kept between
// calls, so that nothing is allocated once a stream is warm.
#pragma once

#include <cuda_runtime.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "kernels/cuda/cuda_streams.h"
#include "kernels/cuda/send_ring.h"
#include "kernels/cuda/sent_before.h"

namespace palimpsest::kernels::cuda {

// Device memory that only grows. Contents do not survive growth.
class Scratch {
public:
    Scratch() = default;
    Scratch(const Scratch&) = delete;
    Scratch& operator=(const Scratch&) = delete;
    ~Scratch();

    bool holds(size_t bytes) const { return bytes <= bytes_; }
    void grow(size_t bytes); // 256-byte aligned. REQUIRES: no work uses it. Throws Error (Resources).
    void* data() const { return data_; }
    size_t bytes() const { return bytes_; }

private:
    void* data_ = nullptr;
    size_t bytes_ = 0;
};

// Scratch by use, so that kernels that call one another do not share a block by accident.
enum class ScratchUse {
    NormedRows,
    Hidden,
    Unfinished, // products before their norm
    DequantisedWeight,
    NarrowedRows,
    RotatedKeys,
    Scores,     // weights of decode attention, log-sum-exp of prefill
    Watched,    // softmax parts and weights of decode attention, for signals
    WatchedToo, // the same of the layer after
    Partials,   // of splits
    Tickets,    // of splits that are done; zero between calls
    PageScores, // of retrieval
    ReadRanks,
    RowStatistics,
    MovedRows, // straighten, gather
    EvictionScores,
    EvictionRanks, // and bits of ranks
    BestLogits,    // of tiles
    Workspace,     // of the matrix library
    Count
};
inline constexpr auto scratch_uses = static_cast<size_t>(ScratchUse::Count);

class CudaContext {
public:
    explicit CudaContext(int device); // throws Error
    ~CudaContext();
    CudaContext(const CudaContext&) = delete;
    CudaContext& operator=(const CudaContext&) = delete;

    int device() const { return device_; }
    // 90: sm_90. Of the card or, if that is less, of the code that runs on it.
    int compute_capability() const { return capability_; }
    int multiprocessors() const { return multiprocessors_; }
    size_t most_shared() const { return most_shared_; } // bytes a block may have, opted in
    cudaStream_t stream() const { return streams_.current(); }

    // 256-byte aligned. Waits for the stream if it has to grow. Throws Error (Resources).
    template<class T>
    T* scratch(ScratchUse use, size_t count)
    {
        return static_cast<T*>(scratch_memory(use, count * sizeof(T)));
    }
    // Device memory with these elements, once the stream gets there; good until 1 MiB more was sent. For small
    // arrays; others have a Buffer.
    template<class T>
    const T* send(std::span<const T> host)
    {
        refuse_while_recording("sends host memory");
        return static_cast<const T*>(ring_.send(host.data(), host.size_bytes(), stream()));
    }
    // The same of what is often sent again: nothing is sent while it still lies there. Good for what is queued
    // before the next call.
    template<class T>
    const T* send_once(std::span<const T> host)
    {
        refuse_while_recording("sends host memory");
        if (host.size_bytes() > SentBefore::place_bytes) return send(host);
        const void* there = sent_.find(host.data(), host.size_bytes());
        if (!there) there = send_anew(host.data(), host.size_bytes());
        return static_cast<const T*>(there);
    }
    // The same into device memory of the caller's; `host` may go at once.
    void send_to(void* to, const void* host, size_t bytes)
    {
        refuse_while_recording("sends host memory");
        ring_.send_to(to, host, bytes, stream());
    }
    void finish(); // waits for the stream; throws Error if something failed
    uint64_t scratch_bytes() const;

    // ---- recording (cuda_graph.h)

    // What is called now, for the sentences of refusals.
    void enter(const char* operation) { operation_ = operation; }
    // Throws Error (Internal) with this predicate: a recording keeps neither host memory nor waiting nor growth.
    void refuse_while_recording(const char* what) const;

    // Whether a kernel that is launched now may begin before the one ahead of it ends: of a recording only, where
    // that one is a kernel and nothing else is waited for.
    bool may_overlap() const { return overlaps_ && streams_.follows_kernel(); }
    void launched() { streams_.queued(true); }
    void copied() { streams_.queued(false); }

    // Where the scratch lies that was asked for, by use; null: it was not.
    using Places = std::array<const void*, scratch_uses>;
    struct Recorded {
        Owned<cudaGraph_t> graph;
        Places scratch;
    };
    void begin_recording(); // throws Error
    Recorded end_recording();
    void drop_recording() noexcept;
    bool is_still_there(const Places& scratch) const;

    // While one lives, what is recorded goes to a branch: behind all before it, but beside what follows, up to the
    // next wait_for_aside() or the end of the recording. Outside of a recording it changes nothing. REQUIRES: what
    // follows neither writes what work aside reads or writes (signals of the layer, statistics, order lists,
    // ranks of pinned tokens, the plan, scratch of the same use), nor reads what it writes.
    class Aside {
    public:
        explicit Aside(CudaStreams& streams) : streams_(streams) { streams_.turn_aside(); }
        Aside(const Aside&) = delete;
        Aside& operator=(const Aside&) = delete;
        ~Aside() { streams_.turn_back(); }

    private:
        CudaStreams& streams_;
    };
    [[nodiscard]] Aside aside() { return Aside(streams_); } // throws Error
    void wait_for_aside() { streams_.join(); }              // throws Error
    // Work aside reads what one layer's attention left, and the next layer's needs a place of its own: there are
    // two, taken in turn. The place waits for what was aside when leave_turn was called with it two turns ago.
    size_t take_turn() // throws Error
    {
        turn_ = 1 - turn_;
        streams_.wait_for_mark(turn_);
        return turn_;
    }
    void leave_turn(size_t turn) { streams_.mark(turn); } // throws Error

private:
    void* scratch_memory(ScratchUse use, size_t bytes);
    const void* send_anew(const void* host, size_t bytes);

    int device_ = 0; // first: what follows is made on it
    int capability_ = 0, multiprocessors_ = 0;
    size_t most_shared_ = 0;
    bool overlaps_ = false; // what may_overlap says where it is of use
    SendRing ring_;
    SentBefore sent_;
    CudaStreams streams_;
    const char* operation_ = "";
    std::array<Scratch, scratch_uses> scratch_;
    Places recorded_{}; // so far
    size_t turn_ = 0;
};

} // namespace palimpsest::kernels::cuda
