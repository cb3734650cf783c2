#include "storage/reader/note_messages.h"

#include "storage/reader/frame.h"

namespace palimpsest::storage {

std::string encoded_notes(std::span<const Text> notes)
{
    std::string all;
    for (const Text& note : notes) {
        const std::string message = encoded(ReaderNote{note});
        if (all.size() + message.size() > most_note_bytes) break;
        all += message;
    }
    return all;
}

std::vector<Text> decoded_notes(std::string_view bytes)
try {
    if (bytes.size() > most_note_bytes) return {};
    FrameDecoder decoder;
    decoder.push(bytes);
    std::vector<Text> notes;
    while (auto message = decoder.next()) {
        auto* note = std::get_if<ReaderNote>(&*message);
        if (!note) return {};
        notes.push_back(std::move(note->text));
    }
    return decoder.is_between_messages() ? notes : std::vector<Text>();
} catch (const FrameError&) {
    return {};
}

} // namespace palimpsest::storage
