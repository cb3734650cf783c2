// A short piece of a text, on one line, with the words in it that were searched for.
#pragma once

#include <QMetaType>
#include <QString>
#include <cstddef>
#include <span>
#include <string_view>
#include <vector>

#include "engine/text/sentences.h"

namespace palimpsest::ui {

struct Snippet {
    // A found word, in characters of `text`.
    struct Mark {
        int first = 0, count = 0;
        bool operator==(const Mark&) const = default;
    };
    QString text;
    std::vector<Mark> marks; // ascending and apart

    static constexpr qsizetype max_characters = 220;
};

// The piece with the most different words of `found` (bytes of the UTF-8 text, ascending and apart). White space
// and invisible characters become single spaces.
Snippet snippet_of(std::string_view text, std::span<const engine::TextRange> found);

} // namespace palimpsest::ui

Q_DECLARE_METATYPE(palimpsest::ui::Snippet)
