// CPU backend with GPU features added: evicts by itself, using the plain reference, and records operations. Backend
// memory is host memory.
#pragma once

#include <memory>

#include "kernels/backend.h"

namespace palimpsest::tests {

struct SelectingBackendUse {
    int64_t recorded = 0, replayed = 0, refused = 0; // refused: replays
    int64_t evictions = 0;                           // calls of evict, including replays
    int64_t host_evictions = 0;                      // compact with a host's list, or drop
    int64_t downloads = 0;
    int64_t held_bytes = 0, peak_bytes = 0; // in Buffers
    bool refuse_replays = false;            // as if scratch memory had moved
};

// `use` must outlive the backend.
std::unique_ptr<kernels::Backend> open_selecting_backend(int threads, SelectingBackendUse& use);

} // namespace palimpsest::tests
