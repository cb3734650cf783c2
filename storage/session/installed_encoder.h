// The sentence encoder that packaging/get-model --encoder installs, opened when it is first wanted.
#pragma once

#include <functional>
#include <memory>

#include "storage/session/listener.h"
#include "storage/session/passage_encoder.h"

namespace palimpsest::storage {

class InstalledEncoder {
public:
    // `backend`: as for PassageEncoder. What is returned is valid until the next use(). Returns null if no encoder
    // is installed, or if it cannot be used, which the listener is told once.
    PassageEncoder* get(kernels::Backend* backend, Listener& listener);
    // Calls `work`, which uses the encoder. An Error there, as of weights that give no numbers, of a damaged
    // document or a full disk, ends the use of the encoder: the listener is told, and get() returns null from now
    // on.
    void use(PassageEncoder& encoder, Listener& listener, const std::function<void()>& work);

    // As get(), for those who find something: the encoder also scores sentences (PassageEncoder::scores) from now
    // on, if a change for that comes with the program, which costs 43 MB more for all-MiniLM-L6-v2. The listener,
    // which must outlive this object, is told once if it cannot be used.
    PassageEncoder* get_for_finding(kernels::Backend* backend, Listener& listener);

private:
    void read_sentences(Listener& listener);

    bool was_tried_ = false, was_reading_tried_ = false;
    std::unique_ptr<PassageEncoder> encoder_;
};

} // namespace palimpsest::storage
