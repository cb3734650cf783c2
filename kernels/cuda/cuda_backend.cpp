#include "kernels/cuda/cuda_backend.h"

#include <algorithm>

#include "kernels/base/error.h"
#include "kernels/cuda/device/cuda_error.h"
#include "kernels/cuda/device/cuda_graph.h"
#include "kernels/cuda/device/device_memory.h"
#include "kernels/cuda/device/kernels.h"
#include "kernels/cuda/scratch_bound.h"

namespace palimpsest::kernels::cuda {
namespace {

constexpr size_t most_moved = size_t{4} << 20; // bytes per copy if the ranges overlap

bool overlap(const std::byte* a, const std::byte* b, size_t bytes)
{
    return a < b + bytes && b < a + bytes;
}

void copy_apart(std::byte* to, const std::byte* from, size_t bytes, CudaContext& context)
{
    check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToDevice, context.stream()));
    context.copied();
}

// Copies in pieces through scratch, starting at the end that no later piece reads.
void copy_overlapping(std::byte* to, const std::byte* from, size_t bytes, CudaContext& context)
{
    const size_t most = std::min(bytes, most_moved), pieces = (bytes + most - 1) / most;
    std::byte* between = context.scratch<std::byte>(ScratchUse::MovedRows, most);
    for (size_t i = 0; i < pieces; ++i) {
        const size_t first = (to < from ? i : pieces - 1 - i) * most, count = std::min(most, bytes - first);
        copy_apart(between, from + first, count, context);
        copy_apart(to + first, between, count, context);
    }
}

} // namespace

CudaBackend::CudaBackend(int device) : context_(device) {}

CudaContext& CudaBackend::context(const char* operation)
{
    if (device_failed())
        throw Error(
            ErrorKind::Resources, ErrorCode::GpuLost, Text("graphics card"), Text("it stopped responding earlier"),
            Text("restart the program to use the graphics card again, or set {0} to {1}", Setting::Device, "cpu"));
    check(cudaSetDevice(context_.device()));
    context_.enter(operation);
    return context_;
}

std::string CudaBackend::name() const
{
    return "cuda:" + std::to_string(context_.device());
}
std::string CudaBackend::simd_target() const
{
    return "sm_" + std::to_string(context_.compute_capability());
}

std::optional<DeviceMemory> CudaBackend::memory() const
{
    size_t unused = 0, total = 0;
    check(cudaSetDevice(context_.device()));
    check(cudaMemGetInfo(&unused, &total));
    return DeviceMemory{unused, total};
}

uint64_t CudaBackend::weight_bytes(std::span<const HostMatrix> parts) const
{
    return cuda::weight_bytes(parts);
}

uint64_t CudaBackend::scratch_bound(const WorkBounds& work) const
{
    return sum_of(cuda::scratch_bound(work, context_));
}

void CudaBackend::reserve(const WorkBounds& work)
{
    CudaContext& on = context();
    const ScratchSizes sizes = cuda::scratch_bound(work, on);
    for (size_t use = 0; use < sizes.size(); ++use)
        on.scratch<std::byte>(static_cast<ScratchUse>(use), sizes[use]);
    const size_t tickets = sizes[static_cast<size_t>(ScratchUse::Tickets)]; // must be zero between calls
    check(cudaMemsetAsync(on.scratch<std::byte>(ScratchUse::Tickets, tickets), 0, tickets, on.stream()));
    pinned_.reserve();
}

// `operations` take a quarter of a second at half of an H200's peak rate of 16-bit products.
AtOnce CudaBackend::at_once() const
{
    constexpr int first_with_bf16 = 80;
    return {
        .operations = 790e12 * 0.5 * 0.25, .rows = 8192, .bf16 = context_.compute_capability() >= first_with_bf16};
}

void CudaBackend::upload(void* to, const void* from_host, size_t bytes)
{
    CudaContext& on = context();
    on.refuse_while_recording(Unrecordable::HostMemory);
    // Through pinned memory: the host does not wait, and copies to the device overlap with filling the pinned
    // memory.
    for (size_t sent = 0; sent < bytes; sent += SendRing::max_kept) {
        const size_t piece = std::min(bytes - sent, SendRing::max_kept);
        on.send_to(static_cast<std::byte*>(to) + sent, static_cast<const std::byte*>(from_host) + sent, piece);
    }
}

void CudaBackend::download(void* to_host, const void* from, size_t bytes)
{
    if (bytes == 0) return;
    CudaContext& on = context();
    on.refuse_while_recording(Unrecordable::Wait);
    pinned_.begin();
    pinned_.copy(static_cast<std::byte*>(to_host), static_cast<const std::byte*>(from), bytes, on.stream());
    pinned_.finish();
}

std::unique_ptr<Download> CudaBackend::begin_download(const void* from, size_t bytes)
{
    CudaContext& on = context();
    on.refuse_while_recording(Unrecordable::Wait);
    return blocks_.begin(from, bytes, on.stream());
}

void CudaBackend::copy(void* to, const void* from, size_t bytes)
{
    if (bytes == 0 || to == from) return;
    auto* target = static_cast<std::byte*>(to);
    const auto* source = static_cast<const std::byte*>(from);
    CudaContext& on = context();
    on.wait_for_aside();
    (overlap(target, source, bytes) ? copy_overlapping : copy_apart)(target, source, bytes, on);
}

std::unique_ptr<Weight> CudaBackend::load(std::span<const HostMatrix> parts)
{
    return cuda::load(parts, context());
}

void CudaBackend::embed(const EmbedArgs& args)
{
    cuda::embed(args, context());
}
void CudaBackend::linear(const LinearArgs& args)
{
    cuda::linear(args, context());
}
void CudaBackend::feed_forward(const FeedForwardArgs& args)
{
    cuda::feed_forward(args, context());
}
void CudaBackend::prepare_heads(const PrepareHeadsArgs& args)
{
    cuda::prepare_heads(args, context());
}
void CudaBackend::stage(const StageArgs& args)
{
    cuda::stage(args, context());
}
void CudaBackend::attend(const AttendArgs& args)
{
    cuda::attend(args, context());
}
void CudaBackend::decode_attend(const DecodeAttendArgs& args)
{
    cuda::decode_attend(args, context());
}
void CudaBackend::bound_pages(const BoundPagesArgs& args)
{
    cuda::bound_pages(args, context());
}
void CudaBackend::compact(const CompactArgs& args)
{
    cuda::compact(args, context());
}
void CudaBackend::drop(const DropArgs& args)
{
    cuda::drop(args, context());
}
void CudaBackend::defragment(const DefragmentArgs& args)
{
    cuda::defragment(args, context());
}
void CudaBackend::gather(const GatherArgs& args)
{
    cuda::gather(args, context());
}
void CudaBackend::gather_all(std::span<const GatherArgs> lists)
{
    CudaContext& on = context();
    cuda::gather_all(lists, pinned_, on);
}
void CudaBackend::accumulate(const AccumulateArgs& args)
{
    CudaContext& on = context();
    const auto aside = on.aside();
    cuda::accumulate(args, on);
}
void CudaBackend::evict(const EvictArgs& args)
{
    CudaContext& on = context();
    const auto aside = on.aside();
    cuda::evict(args, on);
}
void CudaBackend::best_logits(const BestLogitsArgs& args)
{
    cuda::best_logits(args, context());
}

std::unique_ptr<Recording> CudaBackend::record(const std::function<void()>& operations)
{
    return cuda::record(operations, context());
}
bool CudaBackend::replay(const Recording& recording)
{
    return cuda::replay(recording, context());
}

void* CudaBackend::allocate(size_t bytes)
{
    CudaContext& on = context();
    on.refuse_while_recording(Unrecordable::DeviceMemory);
    void* data = allocate_device(bytes);
    try {
        check(cudaMemsetAsync(data, 0, bytes, on.stream()));
    } catch (const Error&) {
        free_device(data);
        throw;
    }
    return data;
}

void CudaBackend::release(void* data, size_t) noexcept
{
    free_device(data);
}

} // namespace palimpsest::kernels::cuda
