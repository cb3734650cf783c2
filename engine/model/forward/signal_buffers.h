// Backend memory for the signals that a policy requests from attention; holds only the signals that the policy
// needs.
#pragma once

#include "engine/policy/policy.h"
#include "kernels/backend.h"

namespace palimpsest::engine {

// The output of `request` that gives a policy with these needs the sums of its lists.
float*& needed_columns(const SignalNeeds& needs, kernels::SignalRequest& request);

class SignalBuffers {
public:
    // `layers`: number of layers whose signals are kept at a time; `ranks`: longest list, chunk included. `backend`
    // must outlive this. Throws Error (Resources).
    SignalBuffers(const SignalNeeds& needs, const kernels::HeadShape& shape, int32_t layers, int64_t ranks,
                  kernels::Backend& backend);

    // Returns where attention writes the signals of a layer. `rows`: new tokens, question rows included; `ranks`:
    // length of the layer's first list with them. The request has no outputs if the policy needs none.
    kernels::SignalRequest request(int32_t layer, int64_t ranks, int32_t rows) const;
    // Like request, but packs the outputs: each follows the previous one since restart(), so that SignalsOnHost
    // fetches all in one download. `longest`: length of the layer's longest list, `rows` included. REQUIRES: at
    // most `layers` calls after restart().
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
    float* next_ = nullptr;  // next output of request_close
    kernels::Buffer memory_; // f32 [layers][requested outputs]
};

} // namespace palimpsest::engine
