// The main stream that operations are queued on and, during a recording, a side branch.
#pragma once

#include <cuda_runtime.h>

#include <array>
#include <memory>
#include <type_traits>

namespace palimpsest::kernels::cuda {

// Handles of the current device. Not released once the device has failed.
struct Releaser {
    void operator()(cudaStream_t stream) const noexcept;
    void operator()(cudaEvent_t event) const noexcept;
    void operator()(cudaGraph_t graph) const noexcept;
    void operator()(cudaGraphExec_t exec) const noexcept;
};
template<class Handle>
using Owned = std::unique_ptr<std::remove_pointer_t<Handle>, Releaser>;

// Not thread-safe: the thread that began a recording must end it.
class CudaStreams {
public:
    CudaStreams(); // throws Error
    cudaStream_t main() const { return main_.get(); }
    cudaStream_t current() const { return aside_ ? side_.get() : main_.get(); }

    // From here on, work is recorded instead of executed. Operations that a capture does not support (waiting,
    // allocating device memory, copies of pageable memory) fail and invalidate it. Throws Error.
    void begin_recording();
    bool is_recording() const { return recording_; }
    // Joins the branch and ends the recording, even if it throws Error; later work is executed again.
    Owned<cudaGraph_t> end_recording();
    void drop_recording() noexcept;

    // True if the newest recorded node of the main stream is a kernel, and nothing was joined since.
    bool follows_kernel() const { return recording_ && follows_kernel_ && !aside_; }
    void queued(bool kernel)
    {
        if (!aside_) follows_kernel_ = kernel;
    }

    // turn_aside: work goes to the branch, after everything queued so far; turn_back: to the main stream. Without
    // a recording, turn_aside does nothing.
    void turn_aside(); // throws Error
    void turn_back() { aside_ = false; }
    // Later work on the main stream waits for the branch. Throws Error.
    void join();
    // mark: marks the end of the branch's work so far. wait_for_mark: like join, but waits only for the work
    // before the mark, if one was set. Both throw Error.
    static constexpr size_t marks = 2;
    void mark(size_t which);
    void wait_for_mark(size_t which);

private:
    cudaError_t try_to_join();
    void leave_recording();

    Owned<cudaStream_t> main_, side_;
    Owned<cudaEvent_t> reached_; // used by turn_aside and join
    std::array<Owned<cudaEvent_t>, marks> marks_;
    std::array<bool, marks> marked_{};
    bool recording_ = false, aside_ = false, branched_ = false, follows_kernel_ = false;
};

} // namespace palimpsest::kernels::cuda
