// Permanent failure of a GPU: this process does not use it again, and continues on the CPU.
#pragma once

#include "kernels/base/error.h"

namespace palimpsest::storage {

inline bool is_device_loss(const Error& error)
{
    return error.code() == ErrorCode::GpuLost;
}

} // namespace palimpsest::storage
