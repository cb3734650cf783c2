// What a parser writes, as a short text to compare: blocks, with "{2 Title}" where a section begins, "<12>" where a
// page does, and "(note)" for a note.
#pragma once

#include <functional>
#include <string>
#include <variant>

#include "app/reader/text_writer.h"

namespace palimpsest::tests {

inline std::string written(const std::function<void(reader::TextWriter&)>& write)
{
    std::string out;
    reader::TextWriter writer([&](const storage::ReaderFrame& frame) {
        // What is written must be what is read.
        storage::FrameDecoder decoder;
        decoder.push(encoded(frame));
        const auto decoded = decoder.next();
        if (!decoded || *decoded != frame) out += "(changed on the way)";
        if (const auto* text = std::get_if<storage::ReaderText>(&frame)) out += text->text;
        if (const auto* heading = std::get_if<storage::ReaderHeading>(&frame))
            out += "{" + std::to_string(heading->level) + " " + heading->title + "}";
        if (const auto* page = std::get_if<storage::ReaderPage>(&frame)) out += "<" + page->label + ">";
        if (const auto* note = std::get_if<storage::ReaderNote>(&frame)) out += "(" + note->text.english() + ")";
        if (const auto* fact = std::get_if<storage::ReaderFact>(&frame)) out += "[" + fact->value + "]";
    });
    write(writer);
    writer.finish();
    return out;
}

} // namespace palimpsest::tests
