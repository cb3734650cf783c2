// A graphics card that failed for good: it is not used again in this process, and work goes on on the CPU
// (reliability.md, P13).
#pragma once

#include "kernels/base/error.h"

namespace palimpsest::storage {

inline bool is_device_loss(const Error& error)
{
    return error.code() == "PAL-GPU-03";
}

} // namespace palimpsest::storage
