// A CPU backend with features of a GPU backend: it evicts by itself, with reference_eviction.h, and records
// operations. Backend memory is host memory.
#pragma once

#include <memory>

#include "kernels/backend.h"

namespace palimpsest::tests {

struct SelectingBackendUse {
    int64_t recorded = 0, replayed = 0, refused = 0; // refused: replays that were refused
    int64_t evictions = 0;                           // calls of evict, including replays
    int64_t host_evictions = 0;                      // calls of compact with ranks in host memory, or of drop
    int64_t downloads = 0;
    int64_t held_bytes = 0, peak_bytes = 0; // in Buffers
    bool refuse_replays = false;            // replays are refused, as if scratch memory had moved
};

// `use` must outlive the backend.
std::unique_ptr<kernels::Backend> open_selecting_backend(int threads, SelectingBackendUse& use);

} // namespace palimpsest::tests
