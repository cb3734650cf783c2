// State shared by all CUDA kernels: the device and its limits, one stream, and scratch memory that is kept between
// calls, so that nothing is allocated after the first calls.
#pragma once

#include <cuda_runtime.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "kernels/cuda/device/cuda_streams.h"
#include "kernels/cuda/device/send_ring.h"
#include "kernels/cuda/device/sent_before.h"

namespace palimpsest::kernels::cuda {

// Device memory that only grows. Contents do not survive growth.
class Scratch {
public:
    Scratch() = default;
    Scratch(const Scratch&) = delete;
    Scratch& operator=(const Scratch&) = delete;
    ~Scratch();

    bool holds(size_t bytes) const { return bytes <= bytes_; }
    void grow(size_t bytes); // 256-byte aligned. REQUIRES: no queued work uses it. Throws Error (Resources).
    void* data() const { return data_; }
    size_t bytes() const { return bytes_; }

private:
    void* data_ = nullptr;
    size_t bytes_ = 0;
};

// One scratch block per use, so that kernels that call one another do not share a block by accident.
enum class ScratchUse {
    NormedRows,
    Hidden,
    Unfinished, // products to which their RowFinish (backend.h: norm, factor, soft cap) is not applied yet
    DequantisedWeight,
    NarrowedRows,
    RotatedKeys,
    Scores,     // logits and weights of decode attention; log-sum-exps of prefill
    Watched,    // softmax parts and weights of decode attention, for signals
    WatchedToo, // the same: a second buffer, for every other layer
    Partials,   // partial results of splits
    Tickets,    // count finished splits; zero between calls
    PageScores, // bounds of retrieval pages
    ReadRanks,  // ranks and pages that retrieval reads; ranks sent by drop; first displaced ranks in defragment
    RowStatistics,
    MovedRows, // defragment, gather
    EvictionScores,
    EvictionRanks, // and their bit masks
    BestLogits,    // per tile
    Workspace,     // of cuBLASLt
    Count
};
inline constexpr auto scratch_uses = static_cast<size_t>(ScratchUse::Count);

// Operations that a CUDA graph cannot record: reading host memory, waiting, allocating, and other recordings.
enum class Unrecordable { HostMemory, Wait, DeviceMemory, WorkingMemory, Recording, Replay };

class CudaContext {
public:
    explicit CudaContext(int device); // throws Error
    ~CudaContext();
    CudaContext(const CudaContext&) = delete;
    CudaContext& operator=(const CudaContext&) = delete;

    int device() const { return device_; }
    // 90: sm_90. The lesser of the card's capability and that of the code that runs on it.
    int compute_capability() const { return capability_; }
    int multiprocessors() const { return multiprocessors_; }
    size_t most_shared() const { return most_shared_; } // most shared memory of a block, in bytes, with opt-in
    cudaStream_t stream() const { return streams_.current(); }

    // 256-byte aligned. Waits for the stream if it must grow. Throws Error (Resources).
    template<class T>
    T* scratch(ScratchUse use, size_t count)
    {
        return static_cast<T*>(scratch_memory(use, count * sizeof(T)));
    }
    // Returns device memory that holds these elements for work queued after this call, until 1 MiB more has been
    // sent. For small arrays; use a Buffer for others.
    template<class T>
    const T* send(std::span<const T> host)
    {
        refuse_while_recording(Unrecordable::HostMemory);
        return static_cast<const T*>(ring_.send(host.data(), host.size_bytes(), stream()));
    }
    // Like send, for arrays that are often sent again: sends nothing while the device still has a copy. Valid for
    // work that is queued before the next call.
    template<class T>
    const T* send_cached(std::span<const T> host)
    {
        refuse_while_recording(Unrecordable::HostMemory);
        if (host.size_bytes() > UploadCache::place_bytes) return send(host);
        const void* there = sent_.find(host.data(), host.size_bytes());
        if (!there) there = send_uncached(host.data(), host.size_bytes());
        return static_cast<const T*>(there);
    }
    // Like send, into the caller's device memory; `host` may be freed at once.
    void send_to(void* to, const void* host, size_t bytes)
    {
        refuse_while_recording(Unrecordable::HostMemory);
        ring_.send_to(to, host, bytes, stream());
    }
    void finish(); // waits for the stream; throws Error if something failed
    uint64_t scratch_bytes() const;

    // ---- recording (cuda_graph.h)

    // Sets the name of the current operation, for error messages.
    void enter(const char* operation) { operation_ = operation; }
    // During a recording, throws Error (Internal) that names the current operation and what it tried to do.
    void refuse_while_recording(Unrecordable what) const;

    // True if a kernel that is launched now may begin before the previous one ends: only in a recording, and only
    // if its one dependency is a kernel.
    bool may_overlap() const { return overlaps_ && streams_.follows_kernel(); }
    void launched() { streams_.queued(true); }
    void copied() { streams_.queued(false); }

    // The address of each scratch block that a recording uses; null: not used.
    using Places = std::array<const void*, scratch_uses>;
    struct Recorded {
        Owned<cudaGraph_t> graph;
        Places scratch;
    };
    void begin_recording(); // throws Error
    Recorded end_recording();
    void drop_recording() noexcept;
    bool is_still_there(const Places& scratch) const;

    // While an Aside lives, work is recorded on a branch: it runs after everything before it, but concurrently
    // with later work, up to the next wait_for_aside() or the end of the recording. Without a recording it has no
    // effect. REQUIRES: later work does not write what the branch reads or writes (signals of the layer,
    // statistics, order lists, ranks of pinned tokens, the plan, scratch of the same use), nor read what the
    // branch writes.
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
    // Work on the branch reads results of one layer's attention while the next layer's attention already writes its
    // own, so layers use two buffers alternately. acquire_signal_buffer returns 0 or 1; the stream then waits for
    // the branch's work up to the previous release_signal_buffer of the same number.
    size_t acquire_signal_buffer() // throws Error
    {
        turn_ = 1 - turn_;
        streams_.wait_for_mark(turn_);
        return turn_;
    }
    void release_signal_buffer(size_t turn) { streams_.mark(turn); } // throws Error

private:
    void* scratch_memory(ScratchUse use, size_t bytes);
    const void* send_uncached(const void* host, size_t bytes);

    int device_ = 0; // first: the other members are created on this device
    int capability_ = 0, multiprocessors_ = 0;
    size_t most_shared_ = 0;
    bool overlaps_ = false; // card and driver can overlap launches (programmatic dependent launch)
    SendRing ring_;
    UploadCache sent_;
    CudaStreams streams_;
    const char* operation_ = "";
    std::array<Scratch, scratch_uses> scratch_;
    Places recorded_{}; // in the current recording
    size_t turn_ = 0;
};

} // namespace palimpsest::kernels::cuda
