// Downloads the signals of one layer, or of all layers of a token, to the host at once.
#pragma once

#include <span>
#include <vector>

#include "engine/model/forward/layer_eviction.h"
#include "kernels/backend.h"

namespace palimpsest::engine {

class SignalsOnHost {
public:
    // Downloads the signals of these layers. REQUIRES: SignalBuffers::request_close packed their outputs.
    void download(std::span<const AttendedLayer> layers, const kernels::HeadShape& shape,
                  kernels::Backend& backend);
    // Returns `seen` with its outputs in host memory, valid until the next download. REQUIRES: `seen` was part of
    // the last download.
    kernels::SignalRequest here(const kernels::SignalRequest& seen);

    size_t allocated_bytes() const { return floats_.capacity() * sizeof(float); }

private:
    std::vector<float> floats_;
    const float* first_ = nullptr; // where the downloaded outputs begin in backend memory
};

} // namespace palimpsest::engine
