// The sentence encoder that packaging/get-model --encoder installs, opened when it is first wanted.
#pragma once

#include <functional>
#include <memory>

#include "storage/session/listener.h"
#include "storage/session/passage_encoder.h"

namespace palimpsest::storage {

class InstalledEncoder {
public:
    // `backend`: as for PassageEncoder. Returns null if no encoder is installed, or if it cannot be used, which the
    // listener is told once.
    PassageEncoder* get(kernels::Backend* backend, Listener& listener);
    // Calls `work`, which uses the encoder. An Error there, as of weights that give no numbers, of a damaged
    // document or a full disk, ends the use of the encoder: the listener is told, and get() returns null from now
    // on.
    void use(PassageEncoder& encoder, Listener& listener, const std::function<void()>& work);

private:
    bool was_tried_ = false;
    std::unique_ptr<PassageEncoder> encoder_;
};

} // namespace palimpsest::storage
