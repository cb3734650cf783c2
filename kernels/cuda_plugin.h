// The interface between the program and libpalimpsest-cuda.so, the only file that depends on CUDA: two C functions
// that report in plain data. The number in their names is the version of this header, backend.h, base/dtype.h,
// base/error.h and base/text.h: increase it with every change that affects compiled callers. cuda_plugin_layout
// detects changed struct sizes even if it was not increased.
//
// A backend throws Error like any other. The library must stay loaded as long as an object of it may exist.
#pragma once

#include <initializer_list>

#include "kernels/backend.h"
#include "kernels/base/error.h"
#include "kernels/base/packed_text.h"

namespace palimpsest::kernels {

inline constexpr const char* cuda_open_symbol = "palimpsest_cuda_open_1";
inline constexpr const char* cuda_survey_symbol = "palimpsest_cuda_survey_1";

// Characters are UTF-8, zero-terminated and truncated to fit; no text: nothing to report.
struct CudaOpening {
    Backend* backend = nullptr; // owned by the caller; null: the fields below say why
    char code[16] = "";         // name of the error's code, such as PAL-GPU-01
    PackedText problem;
    PackedText remedy;
};

struct CudaDevice {
    char name[128] = "";
    int32_t compute_capability = 0; // 90: 9.0
    int32_t multiprocessors = 0;
    uint64_t memory_bytes = 0;
    uint64_t free_bytes = 0; // of memory_bytes; 0 if unknown
    PackedText problem;      // why it cannot be used
};

struct CudaInfo {
    static constexpr int most_devices = 16;
    char driver_release[64] = ""; // 580.65.06, if the system reports it
    int32_t driver_version = 0;   // newest CUDA version it supports, 13000: 13.0; 0: no driver
    int32_t runtime_version = 0;
    int32_t device_count = 0; // may exceed most_devices, the number described
    uint64_t launches = 0;    // by this process so far: kernels but the matrix library's, and nodes of recordings
    CudaDevice devices[most_devices];
    PackedText problem; // why no device can be used
    PackedText remedy;
    char matrix_library[512] = "";     // path of cuBLASLt; empty if none is used
    PackedText matrix_library_problem; // why it is missing, or why files tried before it were refused
};

enum class CudaStatus : int32_t {
    Written = 0,
    OtherLayout = 1, // nothing was written: caller and library were built from different headers
    OutOfMemory = 2, // of the host; what was written is incomplete
};

using OpenCuda = CudaStatus(uint64_t layout, int32_t device, CudaOpening* opening) noexcept;
using SurveyCuda = CudaStatus(uint64_t layout, CudaInfo* survey) noexcept;

// A hash of the sizes of the structs that cross the interface, and of the numbers of settings and steps; almost
// certainly differs if one of them has changed.
constexpr uint64_t cuda_plugin_layout()
{
    uint64_t hash = 0xcbf29ce484222325; // FNV-1a
    for (const size_t bytes : {sizeof(Error),
                               sizeof(Weight),
                               sizeof(HostMatrix),
                               sizeof(EmbedArgs),
                               sizeof(LinearArgs),
                               sizeof(FeedForwardArgs),
                               sizeof(RopeTable),
                               sizeof(HeadShape),
                               sizeof(KvPool),
                               sizeof(KvLists),
                               sizeof(Staging),
                               sizeof(SignalRequest),
                               sizeof(StageArgs),
                               sizeof(AttendArgs),
                               sizeof(PageBounds),
                               sizeof(BoundPagesArgs),
                               sizeof(PageRetrieval),
                               sizeof(DecodeAttendArgs),
                               sizeof(CompactArgs),
                               sizeof(DropArgs),
                               sizeof(AccumulateArgs),
                               sizeof(SelectionRule),
                               sizeof(EvictArgs),
                               sizeof(BestLogitsArgs),
                               sizeof(DefragmentArgs),
                               sizeof(GatherArgs),
                               sizeof(CudaOpening),
                               sizeof(CudaInfo),
                               sizeof(RowFinish),
                               sizeof(PrepareHeadsArgs),
                               sizeof(ExpertsArgs),
                               sizeof(WorkBounds),
                               sizeof(AtOnce),
                               setting_count,
                               step_count})
        hash = (hash ^ bytes) * 0x100000001b3;
    return hash;
}

} // namespace palimpsest::kernels
