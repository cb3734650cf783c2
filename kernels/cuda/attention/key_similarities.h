// The similarity of keys to their mean, for policies that read it (SignalRequest::key_similarities).
#pragma once

#include "kernels/backend.h"
#include "kernels/cuda/device/cuda_context.h"

namespace palimpsest::kernels::cuda {

// The keys of a layer's lists: `pooled` rows beyond KvLists::used are in the pool (a decoded token), `staged` are
// in the staging buffer (a chunk); one of the two is 0. `lists.used` is device memory.
struct ScoredKeys {
    HeadShape shape;
    KvPool pool;
    KvLists lists;
    int32_t pooled = 0;
    Staging staging{};
    int32_t staged = 0;
};

// Writes nothing if no similarities are requested. Needs no scratch.
void write_key_similarities(const ScoredKeys& keys, const SignalRequest& wanted, CudaContext& context);

} // namespace palimpsest::kernels::cuda
