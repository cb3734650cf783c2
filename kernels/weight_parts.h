// Checks of the parts of a weight that every backend makes before loading them.
#pragma once

#include <span>

#include "kernels/backend.h"
#include "kernels/base/error.h"

namespace palimpsest::kernels {

// Throws Error (Internal) if the parts do not fit together.
inline void check_parts(std::span<const HostMatrix> parts)
{
    const auto require = [](bool holds, Text (*what)()) {
        if (!holds)
            throw Error(ErrorKind::Internal, ErrorCode::InvalidWeightParts, Text("weight"), what(),
                        Text("report this as a bug"));
    };
    require(!parts.empty(), [] { return Text("it has no parts"); });
    for (const HostMatrix& m : parts) {
        require(m.data != nullptr && m.rows > 0 && m.cols > 0, [] { return Text("a part is empty"); });
        require(m.cols == parts.front().cols, [] { return Text("its parts differ in width"); });
        require(m.cols % info(m.type).block == 0, [] { return Text("a row is not a whole number of blocks"); });
        require(m.paired_head_dim == 0 || (m.paired_head_dim % 2 == 0 && m.rows % m.paired_head_dim == 0),
                [] { return Text("its rows are not a whole number of rotary heads"); });
    }
}

} // namespace palimpsest::kernels
