#include "kernels/cpu/cpu_backend.h"

#include <cstring>
#include <sys/mman.h>

#include "kernels/base/error.h"
#include "kernels/cpu/gemv.h"
#include "kernels/cpu/kernels.h"

namespace palimpsest::kernels::cpu {

CpuBackend::CpuBackend(int threads, std::string_view simd, bool exact_products)
    : simd_(simd), context_(threads, exact_products)
{
}

std::string CpuBackend::name() const
{
    return "cpu";
}
std::string CpuBackend::simd_target() const
{
    return kernels::simd_target();
}
bool CpuBackend::exact_products() const
{
    return context_.exact_products || !multiplies_in_fixed_point();
}
int CpuBackend::threads() const
{
    return context_.threads.threads();
}
uint64_t CpuBackend::scratch_bytes() const
{
    return context_.scratch_bytes();
}

void CpuBackend::upload(void* to, const void* from_host, size_t bytes)
{
    copy(to, from_host, bytes);
}
void CpuBackend::download(void* to_host, const void* from, size_t bytes)
{
    copy(to_host, from, bytes);
}
void CpuBackend::copy(void* to, const void* from, size_t bytes)
{
    if (bytes > 0) std::memmove(to, from, bytes); // empty ranges may have null pointers
}

std::unique_ptr<Weight> CpuBackend::load(std::span<const HostMatrix> parts)
{
    return cpu::load(parts);
}

void CpuBackend::embed(const EmbedArgs& args)
{
    cpu::embed(args, context_);
}
void CpuBackend::linear(const LinearArgs& args)
{
    cpu::linear(args, context_);
}
void CpuBackend::feed_forward(const FeedForwardArgs& args)
{
    cpu::feed_forward(args, context_);
}
void CpuBackend::prepare_heads(const PrepareHeadsArgs& args)
{
    cpu::prepare_heads(args, context_);
}
void CpuBackend::experts(const ExpertsArgs& args)
{
    cpu::experts(args, context_);
}
void CpuBackend::stage(const StageArgs& args)
{
    cpu::stage(args, context_);
}
void CpuBackend::attend(const AttendArgs& args)
{
    cpu::attend(args, context_);
}
void CpuBackend::decode_attend(const DecodeAttendArgs& args)
{
    cpu::decode_attend(args, context_);
}
void CpuBackend::bound_pages(const BoundPagesArgs& args)
{
    cpu::bound_pages(args, context_);
}
void CpuBackend::compact(const CompactArgs& args)
{
    cpu::compact(args, context_);
}
void CpuBackend::drop(const DropArgs& args)
{
    cpu::drop(args);
}
void CpuBackend::defragment(const DefragmentArgs& args)
{
    cpu::defragment(args, context_);
}
void CpuBackend::gather(const GatherArgs& args)
{
    cpu::gather(args);
}

// The pages come from the system: they are zero-filled, and use memory only once they are touched.
void* CpuBackend::allocate(size_t bytes)
{
    void* data = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (data == MAP_FAILED)
        throw Error(ErrorKind::Resources, ErrorCode::OutOfMemory, Text("memory"),
                    Text("the system refused {0} bytes", bytes),
                    Text("choose a smaller {0} or {1}, or close other programs", Setting::Budget, Setting::Chunk));
    return data;
}

void CpuBackend::release(void* data, size_t bytes) noexcept
{
    munmap(data, bytes);
}

} // namespace palimpsest::kernels::cpu
