// The norms of the keys of a chunk or token, for policies that read them (SignalRequest::key_norms).
#pragma once

#include <span>

#include "kernels/backend.h"

namespace palimpsest::kernels::cpu {

// `used`: [kv_heads] ranks before the rows. Writes nothing if no norms are requested. The bits depend on nothing
// but the keys: sums run in double precision from the first element to the last, on every SIMD target.
void write_key_norms(const HeadShape& shape, std::span<const float> qkv, const int32_t* used,
                     const SignalRequest& wanted);

} // namespace palimpsest::kernels::cpu
