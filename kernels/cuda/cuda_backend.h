// The backend for one NVIDIA GPU: backend memory is device memory, operations are queued on one stream.
#pragma once

#include "kernels/backend.h"
#include "kernels/cuda/device/cuda_context.h"
#include "kernels/cuda/device/pinned_blocks.h"
#include "kernels/cuda/device/pinned_pair.h"

namespace palimpsest::kernels::cuda {

class CudaBackend final : public Backend {
public:
    // REQUIRES: the device exists and can be used (cuda_survey.h). Throws Error (Resources).
    explicit CudaBackend(int device);

    std::string name() const override;
    std::string simd_target() const override;
    int threads() const override { return 1; }
    uint64_t scratch_bytes() const override { return context_.scratch_bytes(); }

    void upload(void* to, const void* from_host, size_t bytes) override;
    void download(void* to_host, const void* from, size_t bytes) override;
    void copy(void* to, const void* from, size_t bytes) override; // ranges may overlap
    std::unique_ptr<Download> begin_download(const void* from, size_t bytes) override;

    std::optional<DeviceMemory> memory() const override;
    uint64_t weight_bytes(std::span<const HostMatrix> parts) const override;
    uint64_t scratch_bound(const WorkBounds& work) const override;
    void reserve(const WorkBounds& work) override;
    AtOnce at_once() const override;

    void set_stop(std::stop_token) override {} // operations are short

    std::unique_ptr<Weight> load(std::span<const HostMatrix> parts) override;

    void embed(const EmbedArgs& args) override;
    void linear(const LinearArgs& args) override;
    void feed_forward(const FeedForwardArgs& args) override;
    void prepare_heads(const PrepareHeadsArgs& args) override;
    void stage(const StageArgs& args) override;
    void attend(const AttendArgs& args) override;
    void decode_attend(const DecodeAttendArgs& args) override;
    void bound_pages(const BoundPagesArgs& args) override;
    void compact(const CompactArgs& args) override;
    void drop(const DropArgs& args) override;
    void defragment(const DefragmentArgs& args) override;
    void gather(const GatherArgs& args) override;
    void gather_all(std::span<const GatherArgs> lists) override;
    void accumulate(const AccumulateArgs& args) override;
    void evict(const EvictArgs& args) override;
    void best_logits(const BestLogitsArgs& args) override;

    bool selects() const override { return true; }
    std::unique_ptr<Recording> record(const std::function<void()>& operations) override;
    bool replay(const Recording& recording) override;

private:
    // Returns the context after making its device current on the caller's thread. The default `operation` is the
    // name of the calling function. Throws Error once the device has failed.
    CudaContext& context(const char* operation = __builtin_FUNCTION());
    void* allocate(size_t bytes) override;
    void release(void* data, size_t bytes) noexcept override;

    CudaContext context_;
    PinnedPair pinned_; // for synchronous downloads
    PinnedBlocks blocks_;
};

} // namespace palimpsest::kernels::cuda
