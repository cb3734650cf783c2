// The stream that operations are queued on and, while they are recorded, a branch beside it.
#pragma once

#include <cuda_runtime.h>

#include <array>
#include <memory>
#include <type_traits>

namespace palimpsest::kernels::cuda {

// Handles of the current device. None is given back once the device has failed.
struct GiveBack {
    void operator()(cudaStream_t stream) const noexcept;
    void operator()(cudaEvent_t event) const noexcept;
    void operator()(cudaGraph_t graph) const noexcept;
    void operator()(cudaGraphExec_t exec) const noexcept;
};
template<class Handle>
using Owned = std::unique_ptr<std::remove_pointer_t<Handle>, GiveBack>;

// Not thread-safe: a recording ends on the thread that began it.
class CudaStreams {
public:
    CudaStreams(); // throws Error
    cudaStream_t main() const { return main_.get(); }
    cudaStream_t current() const { return aside_ ? side_.get() : main_.get(); }

    // From here on work is kept instead of done. What a capture cannot keep (waiting, taking device memory, copies
    // of pageable memory) fails and spoils it. Throws Error.
    void begin_recording();
    bool is_recording() const { return recording_; }
    // The branch joined in. Work is done again, also if it throws Error.
    Owned<cudaGraph_t> end_recording();
    void drop_recording() noexcept;

    // Whether the newest of what is recorded on the main stream is a kernel, and nothing was joined since.
    bool follows_kernel() const { return recording_ && follows_kernel_ && !aside_; }
    void queued(bool kernel)
    {
        if (!aside_) follows_kernel_ = kernel;
    }

    // Only of a recording: work goes to the branch, behind all that is there so far, and back again.
    void turn_aside(); // throws Error
    void turn_back() { aside_ = false; }
    // What follows on the stream comes behind the branch. Throws Error.
    void join();
    // The same, but only behind what the branch held when mark(which) was called, if it was. Throws Error.
    static constexpr size_t marks = 2;
    void mark(size_t which);
    void wait_for_mark(size_t which);

private:
    cudaError_t try_to_join();
    void leave_recording();

    Owned<cudaStream_t> main_, side_;
    Owned<cudaEvent_t> reached_; // by one of the two
    std::array<Owned<cudaEvent_t>, marks> marks_;
    std::array<bool, marks> marked_{};
    bool recording_ = false, aside_ = false, branched_ = false, follows_kernel_ = false;
};

} // namespace palimpsest::kernels::cuda
