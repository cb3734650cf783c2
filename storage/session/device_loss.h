// Recognises the permanent failure of a GPU; device_fallback.h says what happens then.
#pragma once

#include "kernels/base/error.h"

namespace palimpsest::storage {

inline bool is_device_loss(const Error& error)
{
    return error.code() == ErrorCode::GpuLost;
}

} // namespace palimpsest::storage
