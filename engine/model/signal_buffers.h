// Where attention leaves the signals a policy asks for (policies.md, 3.1): only what it needs, in backend memory.
#pragma once

#include "engine/policy/policy.h"
#include "kernels/backend.h"

namespace palimpsest::engine {

class SignalBuffers {
public:
    // `layers`: how many layers' signals are needed at a time; `ranks`: the longest list, chunk included. The
    // backend must outlive this. Throws Error (Resources).
    SignalBuffers(const SignalNeeds& needs, const kernels::HeadShape& shape, int32_t layers, int64_t ranks,
                  kernels::Backend& backend);

    // For a layer whose first list has so many ranks, the chunk included; no outputs if nothing is needed.
    kernels::SignalRequest request(int32_t layer, int64_t ranks, int32_t rows) const;
    // The same for lists of at most `longest` ranks, with outputs side by side from the last restart() on, so that
    // they can be downloaded in one piece (SignalsOnHost). REQUIRES: no more layers than there are.
    void restart() { next_ = memory_.data<float>(); }
    kernels::SignalRequest request_close(int64_t ranks, int32_t rows, int64_t longest)
    {
        return request(ranks, rows, next_, longest);
    }
    size_t allocated_bytes() const { return memory_.bytes(); }

private:
    kernels::SignalRequest request(int64_t ranks, int32_t rows, float*& next, int64_t stride) const;

    SignalNeeds needs_;
    int64_t kv_heads_, query_heads_, layers_, stride_;
    int64_t layer_floats_ = 0;
    float* next_ = nullptr;  // where request_close goes on
    kernels::Buffer memory_; // f32 [layers][what is needed]
};

} // namespace palimpsest::engine
