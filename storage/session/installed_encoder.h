// The sentence encoder that packaging/get-model --encoder installs, opened when it is first wanted.
#pragma once

#include <memory>

#include "storage/session/listener.h"
#include "storage/session/passage_encoder.h"

namespace palimpsest::storage {

class InstalledEncoder {
public:
    // `backend`: as for PassageEncoder. Returns null if no encoder is installed, or if it cannot be used, which the
    // listener is told once.
    PassageEncoder* get(kernels::Backend* backend, Listener& listener);

private:
    bool was_tried_ = false;
    std::unique_ptr<PassageEncoder> encoder_;
};

} // namespace palimpsest::storage
