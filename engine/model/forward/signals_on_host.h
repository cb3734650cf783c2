// Signals on the host: those of all layers of a token, or of one layer, fetched in one download.
#pragma once

#include <span>
#include <vector>

#include "engine/model/forward/layer_eviction.h"
#include "kernels/backend.h"

namespace palimpsest::engine {

class SignalsOnHost {
public:
    // Downloads the signals of all these layers. REQUIRES: outputs that were packed by
    // SignalBuffers::request_close.
    void download(std::span<const AttendedLayer> layers, const kernels::HeadShape& shape,
                  kernels::Backend& backend);
    // `seen` with its outputs in host memory, valid until the next download. REQUIRES: it was part of the last
    // download.
    kernels::SignalRequest here(const kernels::SignalRequest& seen);

    size_t allocated_bytes() const { return floats_.capacity() * sizeof(float); }

private:
    std::vector<float> floats_;
    const float* first_ = nullptr; // the first output, in backend memory
};

} // namespace palimpsest::engine
