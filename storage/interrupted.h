#pragma once

#include "kernels/base/text.h"

namespace palimpsest::storage {

// Thrown when a stop was requested; `message` says what is safe and how to go on.
struct Interrupted {
    Text message;
};

} // namespace palimpsest::storage
