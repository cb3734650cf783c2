// A plugin whose device is the CPU and fails permanently after PALIMPSEST_TEST_FAIL_AFTER operations, like a GPU
// that stops responding. PALIMPSEST_TEST_TARGET: SIMD target to report. PALIMPSEST_TEST_FREE_BYTES: reports
// separate memory with this many free bytes.

#include <cstdlib>
#include <cstring>
#include <new>
#include <string>

#include "kernels/base/error.h"
#include "kernels/cpu/cpu_backend.h"
#include "kernels/cuda_plugin.h"

using namespace palimpsest;
using namespace palimpsest::kernels;

namespace {

uint64_t number(const char* variable, uint64_t otherwise)
{
    const char* text = std::getenv(variable);
    return text ? std::strtoull(text, nullptr, 10) : otherwise;
}

class FailingDevice final : public Backend {
public:
    std::string name() const override { return "cuda:0"; }
    std::string simd_target() const override
    {
        const char* target = std::getenv("PALIMPSEST_TEST_TARGET");
        return target ? target : cpu_.simd_target();
    }
    int threads() const override { return 1; }
    uint64_t scratch_bytes() const override { return cpu_.scratch_bytes(); }
    std::optional<DeviceMemory> memory() const override
    {
        const uint64_t free = number("PALIMPSEST_TEST_FREE_BYTES", UINT64_MAX);
        if (free == UINT64_MAX) return std::nullopt;
        return DeviceMemory{free, uint64_t{1} << 40};
    }
    uint64_t weight_bytes(std::span<const HostMatrix> parts) const override
    {
        uint64_t bytes = 0;
        for (const HostMatrix& part : parts)
            bytes += static_cast<uint64_t>(part.rows * row_bytes(part.type, part.cols));
        return bytes;
    }

    void upload(void* to, const void* from, size_t bytes) override { device().upload(to, from, bytes); }
    void download(void* to, const void* from, size_t bytes) override { device().download(to, from, bytes); }
    void copy(void* to, const void* from, size_t bytes) override { device().copy(to, from, bytes); }
    void set_stop(std::stop_token stop) override { cpu_.set_stop(std::move(stop)); }
    std::unique_ptr<Weight> load(std::span<const HostMatrix> parts) override { return device().load(parts); }
    void embed(const EmbedArgs& args) override { device().embed(args); }
    void linear(const LinearArgs& args) override { device().linear(args); }
    void feed_forward(const FeedForwardArgs& args) override { device().feed_forward(args); }
    void prepare_heads(const PrepareHeadsArgs& args) override { device().prepare_heads(args); }
    bool has_experts() const override { return cpu_.has_experts(); }
    void experts(const ExpertsArgs& args) override { device().experts(args); }
    void stage(const StageArgs& args) override { device().stage(args); }
    void attend(const AttendArgs& args) override { device().attend(args); }
    void decode_attend(const DecodeAttendArgs& args) override { device().decode_attend(args); }
    void bound_pages(const BoundPagesArgs& args) override { device().bound_pages(args); }
    void compact(const CompactArgs& args) override { device().compact(args); }
    void drop(const DropArgs& args) override { device().drop(args); }
    void defragment(const DefragmentArgs& args) override { device().defragment(args); }
    void gather(const GatherArgs& args) override { device().gather(args); }

private:
    Backend& device()
    {
        if (left_ == 0)
            throw Error(ErrorKind::Resources, ErrorCode::GpuLost, Text("graphics card"),
                        Text("it stopped responding ({0})", "a test"),
                        Text("restart the program to use the graphics card again, or set {0} to {1}",
                             Setting::Device, "cpu"));
        --left_;
        return cpu_;
    }
    void* allocate(size_t bytes) override
    {
        device();
        return std::calloc(1, bytes);
    }
    void release(void* data, size_t) noexcept override { std::free(data); }

    uint64_t left_ = number("PALIMPSEST_TEST_FAIL_AFTER", UINT64_MAX);
    cpu::CpuBackend cpu_{1, ""};
};

} // namespace

extern "C" {

CudaStatus palimpsest_cuda_open_1(uint64_t layout, int32_t, CudaOpening* opening) noexcept
{
    if (layout != cuda_plugin_layout()) return CudaStatus::OtherLayout;
    try {
        opening->backend = new FailingDevice;
    } catch (const std::bad_alloc&) {
        return CudaStatus::OutOfMemory;
    }
    return CudaStatus::Written;
}

CudaStatus palimpsest_cuda_survey_1(uint64_t layout, CudaInfo* survey) noexcept
{
    if (layout != cuda_plugin_layout()) return CudaStatus::OtherLayout;
    survey->device_count = 1;
    return CudaStatus::Written;
}
}
