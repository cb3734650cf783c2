// A backend that computes nothing and allocates nothing, but counts the memory that another backend would use.
#pragma once

#include <memory>
#include <string>

#include "kernels/backend.h"

namespace palimpsest::kernels {

class CountingBackend final : public Backend {
public:
    explicit CountingBackend(const Backend& counted) : counted_(counted) {} // `counted` must outlive this

    uint64_t buffer_bytes() const { return buffer_bytes_; } // of all live Buffers
    uint64_t loaded_bytes() const { return loaded_bytes_; } // of all weights

    std::string name() const override { return counted_.name(); }
    std::string simd_target() const override { return counted_.simd_target(); }
    int threads() const override { return counted_.threads(); }
    bool exact_products() const override { return counted_.exact_products(); }
    uint64_t scratch_bytes() const override { return 0; }
    AtOnce at_once() const override { return counted_.at_once(); }
    bool has_experts() const override { return counted_.has_experts(); }
    bool selects() const override { return counted_.selects(); }

    std::unique_ptr<Weight> load(std::span<const HostMatrix> parts) override;

    void upload(void*, const void*, size_t) override {}
    void download(void* to_host, const void* from, size_t bytes) override;  // writes zeros
    std::unique_ptr<Download> begin_download(const void*, size_t) override; // its read() writes nothing
    void copy(void*, const void*, size_t) override {}
    void set_stop(std::stop_token) override {}
    void embed(const EmbedArgs&) override {}
    void linear(const LinearArgs&) override {}
    void feed_forward(const FeedForwardArgs&) override {}
    void prepare_heads(const PrepareHeadsArgs&) override {}
    void stage(const StageArgs&) override {}
    void attend(const AttendArgs&) override {}
    void decode_attend(const DecodeAttendArgs&) override {}
    void bound_pages(const BoundPagesArgs&) override {}
    void compact(const CompactArgs&) override {}
    void drop(const DropArgs&) override {}
    void defragment(const DefragmentArgs&) override {}
    void gather(const GatherArgs&) override {}

private:
    void* allocate(size_t bytes) override;
    void release(void* data, size_t bytes) noexcept override;

    const Backend& counted_;
    uint64_t buffer_bytes_ = 0, loaded_bytes_ = 0;
};

} // namespace palimpsest::kernels
