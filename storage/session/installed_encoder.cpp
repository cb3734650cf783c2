#include "storage/session/installed_encoder.h"

#include <filesystem>

#include "kernels/base/error.h"
#include "storage/models/model_folders.h"

namespace palimpsest::storage {

PassageEncoder* InstalledEncoder::get(kernels::Backend* backend, Listener& listener)
{
    if (was_tried_) return encoder_.get();
    was_tried_ = true;
    std::error_code unknown;
    const auto folder = encoder_folder();
    if (!std::filesystem::is_directory(folder, unknown)) return nullptr;
    try {
        encoder_ = std::make_unique<PassageEncoder>(folder, backend);
    } catch (const Error& error) {
        listener.note(Text("passages are found by their words alone: {0}", sentence_of(error)));
    }
    return encoder_.get();
}

} // namespace palimpsest::storage
