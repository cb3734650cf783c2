// What attention showed, on the host: of all layers of a token, or of one, in one download.
#pragma once

#include <span>
#include <vector>

#include "kernels/backend.h"

namespace palimpsest::engine {

class SignalsOnHost {
public:
    // REQUIRES: their outputs lie side by side, in this order (SignalBuffers::request_close).
    void download(std::span<const kernels::SignalRequest> seen, const kernels::HeadShape& shape,
                  kernels::Backend& backend);
    // One of them with its outputs on the host, valid until the next download.
    kernels::SignalRequest here(const kernels::SignalRequest& seen);

    size_t allocated_bytes() const { return floats_.capacity() * sizeof(float); }

private:
    std::vector<float> floats_;
    const float* first_ = nullptr; // of the outputs, in backend memory
};

} // namespace palimpsest::engine
