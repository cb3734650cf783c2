// The CPU backend with what a GPU does beside it: it evicts by itself and records operations, by the plain
// reference. Backend memory is host memory.
#pragma once

#include <memory>

#include "kernels/backend.h"

namespace palimpsest::tests {

struct SelectingBackendUse {
    int64_t recorded = 0, replayed = 0, refused = 0; // replays refused
    int64_t evictions = 0;                           // evict as called, replays included
    int64_t host_evictions = 0;                      // compact with a host's list, or drop
    int64_t downloads = 0;
    int64_t held_bytes = 0, peak_bytes = 0; // of Buffers
    bool refuse_replays = false;            // as if working memory had moved
};

// `use` must outlive the backend.
std::unique_ptr<kernels::Backend> open_selecting_backend(int threads, SelectingBackendUse& use);

} // namespace palimpsest::tests
