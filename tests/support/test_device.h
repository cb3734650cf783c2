// The device for session tests: the emulated one, or the one that PALIMPSEST_TEST_DEVICE names (cpu or cuda), which
// must exist. Builds without the emulator require the variable.
#pragma once

#include <cstdlib>
#include <memory>
#include <string>

#include "kernels/backend.h"
#ifdef PALIMPSEST_EMULATED_CUDA
#include "tests/support/simt/emulated_cuda.h"
#endif

namespace palimpsest::tests {

inline std::unique_ptr<kernels::Backend> open_test_device()
{
    const char* variable = std::getenv("PALIMPSEST_TEST_DEVICE");
    const std::string device = variable ? variable : "emulated";
#ifdef PALIMPSEST_EMULATED_CUDA
    if (device == "emulated") return open_emulated_cuda(90);
#endif
    return kernels::open_backend({.device = device, .threads = 2, .simd = ""});
}

#ifndef PALIMPSEST_EMULATED_CUDA
class HostAccessForbidden { // does nothing: the host cannot access a GPU's memory anyway
public:
    HostAccessForbidden() {}
    ~HostAccessForbidden() {}
};
#endif

} // namespace palimpsest::tests
