// The device that tests of sessions run on: the emulated one, or what PALIMPSEST_TEST_DEVICE names, cpu or cuda,
// which must then be there. Without the emulator it has to name one.
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
class HostKeptOut { // of a card's memory the host is kept out anyway
public:
    HostKeptOut() {}
    ~HostKeptOut() {}
};
#endif

} // namespace palimpsest::tests
