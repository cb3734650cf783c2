// The CPU kernels behind CpuBackend: one function per operation of backend.h, dispatched to the SIMD target.
#pragma once

#include "kernels/backend.h"
#include "kernels/cpu/cpu_context.h"

namespace palimpsest::kernels::cpu {

std::unique_ptr<Weight> load(std::span<const HostMatrix> parts);       // linear.cpp; points into the host memory
void embed(const EmbedArgs& args, CpuContext& context);                // embed.cpp
void linear(const LinearArgs& args, CpuContext& context);              // linear.cpp: rms_norm, then a product
void feed_forward(const FeedForwardArgs& args, CpuContext& context);   // linear.cpp
void prepare_heads(const PrepareHeadsArgs& args, CpuContext& context); // prepare_heads.cpp
void experts(const ExpertsArgs& args, CpuContext& context);            // experts.cpp

void attend(const AttendArgs& args, CpuContext& context);              // prefill_attention.cpp
void decode_attend(const DecodeAttendArgs& args, CpuContext& context); // decode_attention.cpp
void bound_pages(const BoundPagesArgs& args, CpuContext& context);     // page_bounds.cpp

void stage(const StageArgs& args, CpuContext& context); // kv_rows.cpp, like all functions below
void compact(const CompactArgs& args, CpuContext& context);
void drop(const DropArgs& args);
void defragment(const DefragmentArgs& args, CpuContext& context);
void gather(const GatherArgs& args);

} // namespace palimpsest::kernels::cpu
