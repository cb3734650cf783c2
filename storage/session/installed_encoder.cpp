#include "storage/session/installed_encoder.h"

#include <filesystem>
#include <utility>

#include "kernels/base/error.h"
#include "storage/models/model_folders.h"
#include "storage/models/shipped_model.h"

namespace palimpsest::storage {

namespace {

Text by_words_alone(const Error& error)
{
    return Text("passages are found by their words alone: {0}", sentence_of(error));
}

} // namespace

PassageEncoder* InstalledEncoder::get(kernels::Backend* backend, Listener& listener)
{
    if (was_tried_) return encoder_.get();
    was_tried_ = true;
    std::error_code unknown;
    const auto folder = encoder_folder();
    if (!std::filesystem::is_directory(folder, unknown)) return nullptr;
    try {
        auto encoder = std::make_unique<PassageEncoder>(folder, backend);
        // An encoder whose change cannot be read is not used: it would encode all documents anew without the
        // change, and again once the change can be read.
        if (const auto change = shipped_encoder_change(encoder->identity()); !change.empty())
            encoder->change(change);
        encoder_ = std::move(encoder);
    } catch (const Error& error) {
        listener.note(by_words_alone(error));
    }
    return encoder_.get();
}

PassageEncoder* InstalledEncoder::get_for_finding(kernels::Backend* backend, Listener& listener)
{
    if (get(backend, listener) && !was_reading_tried_) read_sentences(listener);
    return encoder_.get();
}

void InstalledEncoder::read_sentences(Listener& listener)
{
    was_reading_tried_ = true;
    const auto change = shipped_sentence_change(encoder_->identity());
    if (change.empty()) return;
    const auto failed = [&listener](const Error& error) {
        listener.note(Text("passages are ranked without reading their sentences: {0}", sentence_of(error)));
    };
    try {
        encoder_->read_sentences_with(change, failed);
    } catch (const Error& error) {
        failed(error);
    }
}

void InstalledEncoder::use(PassageEncoder& encoder, Listener& listener, const std::function<void()>& work)
{
    try {
        work();
    } catch (const Error& error) {
        if (&encoder == encoder_.get()) encoder_.reset();
        listener.note(by_words_alone(error));
    }
}

} // namespace palimpsest::storage
