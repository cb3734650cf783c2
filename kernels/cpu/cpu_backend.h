// The CPU backend: backend memory is ordinary memory, and weights stay in the mapped file.
#pragma once

#include "kernels/backend.h"
#include "kernels/cpu/cpu_context.h"
#include "kernels/cpu/simd_target.h"

namespace palimpsest::kernels::cpu {

class CpuBackend final : public Backend {
public:
    // `threads` >= 1, including the calling thread. `simd`: the name of a target, or empty. `exact_products`: as in
    // BackendChoice; if false, bits differ between processors with and without AVX-512 VNNI. Throws Error (Usage).
    CpuBackend(int threads, std::string_view simd, bool exact_products = false);

    std::string name() const override;
    std::string simd_target() const override;
    int threads() const override;
    bool exact_products() const override;
    uint64_t scratch_bytes() const override;

    void upload(void* to, const void* from_host, size_t bytes) override;
    void download(void* to_host, const void* from, size_t bytes) override;
    void copy(void* to, const void* from, size_t bytes) override; // ranges may overlap

    void set_stop(std::stop_token stop) override { context_.threads.set_stop(std::move(stop)); }

    std::unique_ptr<Weight> load(std::span<const HostMatrix> parts) override;

    void embed(const EmbedArgs& args) override;
    void linear(const LinearArgs& args) override;
    void feed_forward(const FeedForwardArgs& args) override;
    void prepare_heads(const PrepareHeadsArgs& args) override;
    bool has_experts() const override { return true; }
    void experts(const ExpertsArgs& args) override;
    void stage(const StageArgs& args) override;
    void attend(const AttendArgs& args) override;
    void decode_attend(const DecodeAttendArgs& args) override;
    void bound_pages(const BoundPagesArgs& args) override;
    void compact(const CompactArgs& args) override;
    void drop(const DropArgs& args) override;
    void defragment(const DefragmentArgs& args) override;
    void gather(const GatherArgs& args) override;

private:
    void* allocate(size_t bytes) override;
    void release(void* data, size_t bytes) noexcept override;

    SimdUse simd_;
    CpuContext context_;
};

} // namespace palimpsest::kernels::cpu
