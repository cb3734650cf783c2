// The CUDA kernels behind CudaBackend: one function per operation of backend.h. All are asynchronous on the
// context's stream, except those that write host memory.
#pragma once

#include <memory>

#include "kernels/backend.h"
#include "kernels/cuda/device/cuda_context.h"
#include "kernels/cuda/device/pinned_pair.h"

namespace palimpsest::kernels::cuda {

// Rows whose gate and up values are in scratch at a time: 0.5 GB for a hidden width of 14336.
inline constexpr int64_t most_hidden_rows = 4096;

std::unique_ptr<Weight> load(std::span<const HostMatrix> parts, CudaContext& context); // cuda_weight.cu
uint64_t weight_bytes(std::span<const HostMatrix> parts);                              // device memory it takes
void embed(const EmbedArgs& args, CudaContext& context);                               // embed.cu
void linear(const LinearArgs& args, CudaContext& context);                             // linear.cu
void feed_forward(const FeedForwardArgs& args, CudaContext& context);                  // swiglu.cu
void prepare_heads(const PrepareHeadsArgs& args, CudaContext& context);                // prepare_heads.cu

void stage(const StageArgs& args, CudaContext& context);                // stage.cu
void attend(const AttendArgs& args, CudaContext& context);              // prefill_attention.cu
void decode_attend(const DecodeAttendArgs& args, CudaContext& context); // decode_attention.cu
void bound_pages(const BoundPagesArgs& args, CudaContext& context);     // page_bounds.cu

void accumulate(const AccumulateArgs& args, CudaContext& context); // accumulate.cu
void evict(const EvictArgs& args, CudaContext& context);           // eviction.cu

void compact(const CompactArgs& args, CudaContext& context); // kv_rows.cu, like the three below
void drop(const DropArgs& args, CudaContext& context);
void defragment(const DefragmentArgs& args, CudaContext& context);
void gather(const GatherArgs& args, CudaContext& context);
void gather_all(std::span<const GatherArgs> lists, PinnedPair& through, CudaContext& context);

size_t best_logits_bytes(int64_t count);                            // of scratch
void best_logits(const BestLogitsArgs& args, CudaContext& context); // best_logits.cu

} // namespace palimpsest::kernels::cuda
