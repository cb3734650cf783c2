// What every CUDA kernel is handed: the device and its limits, one stream, and scratch memory that is kept between
// calls, so that nothing is allocated once a stream is warm.
#pragma once

#include <cuda_runtime.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "kernels/cuda/send_ring.h"

namespace palimpsest::kernels::cuda {

// Device memory that only grows. Contents do not survive growth.
class Scratch {
public:
    Scratch() = default;
    Scratch(const Scratch&) = delete;
    Scratch& operator=(const Scratch&) = delete;
    ~Scratch();

    // 256-byte aligned. Waits for the stream if it has to grow. Throws Error (Resources).
    void* get(size_t bytes, cudaStream_t stream);
    size_t bytes() const { return bytes_; }

private:
    void* data_ = nullptr;
    size_t bytes_ = 0;
};

// Scratch by use, so that kernels that call one another do not share a block by accident.
enum class ScratchUse {
    NormedRows,
    Hidden,
    DequantisedWeight,
    NarrowedRows,
    RotatedKeys,
    Scores,     // weights of decode attention, log-sum-exp of prefill
    Partials,   // of splits
    Tickets,    // of splits that are done; zero between calls
    PageScores, // of retrieval
    ReadRanks,
    RowStatistics,
    MovedRows, // straighten, gather
    EvictionScores,
    EvictionRanks, // and bits of ranks
    Workspace,     // of the matrix library
    Count
};

class CudaContext {
public:
    explicit CudaContext(int device); // throws Error
    ~CudaContext();
    CudaContext(const CudaContext&) = delete;
    CudaContext& operator=(const CudaContext&) = delete;

    int device() const { return device_; }
    int compute_capability() const { return capability_; } // 90: sm_90
    int multiprocessors() const { return multiprocessors_; }
    size_t most_shared() const { return most_shared_; } // bytes a block may have, opted in
    cudaStream_t stream() const { return stream_; }

    template<class T>
    T* scratch(ScratchUse use, size_t count)
    {
        return static_cast<T*>(scratch_[static_cast<size_t>(use)].get(count * sizeof(T), stream_));
    }
    // Device memory with these elements, once the stream gets there; good until 1 MiB more was sent. For small
    // arrays; others have a Buffer.
    template<class T>
    const T* send(std::span<const T> host)
    {
        return static_cast<const T*>(ring_.send(host.data(), host.size_bytes(), stream_));
    }
    // The same into device memory of the caller's; `host` may go at once.
    void send_to(void* to, const void* host, size_t bytes) { ring_.send_to(to, host, bytes, stream_); }
    void finish(); // waits for the stream; throws Error if something failed
    uint64_t scratch_bytes() const;

private:
    int device_ = 0; // first: what follows is made on it
    int capability_ = 0, multiprocessors_ = 0;
    size_t most_shared_ = 0;
    SendRing ring_;
    cudaStream_t stream_ = nullptr;
    std::array<Scratch, static_cast<size_t>(ScratchUse::Count)> scratch_;
};

} // namespace palimpsest::kernels::cuda
