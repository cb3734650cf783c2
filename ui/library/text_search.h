// Case-insensitive search in a long text that arrives block by block; finds matches across block borders.
#pragma once

#include <QString>
#include <QStringDecoder>
#include <QStringMatcher>
#include <cstdint>
#include <functional>
#include <string_view>

namespace palimpsest::ui {

struct TextMatch {
    uint64_t byte = 0;        // offset in the UTF-8 of the whole text
    uint64_t bytes = 0;       // length in UTF-8
    QString snippet;          // one line: the match with some context
    int first = 0, count = 0; // the match in the snippet, in characters
};

class TextSearch {
public:
    using Visit = std::function<bool(const TextMatch&)>; // returns false to stop

    explicit TextSearch(const QString& wanted);

    // Returns false if `visit` returned false. Holds at most two blocks in memory.
    bool feed(std::string_view utf8, const Visit& visit);
    // Visits matches that feed() held back because their context was not complete.
    bool finish(const Visit& visit);

private:
    bool look(bool at_end, const Visit& visit);
    TextMatch match_at(qsizetype at) const;

    QStringMatcher wanted_;
    qsizetype length_;
    QStringDecoder decode_{QStringDecoder::Utf8,
                           QStringDecoder::Flag::ConvertInitialBom}; // a byte order mark is part of the text
    QString text_;            // the text not searched yet, with some context before it
    qsizetype looked_ = 0;    // text_ is searched up to this offset
    uint64_t first_byte_ = 0; // UTF-8 offset of text_ in the whole text
};

} // namespace palimpsest::ui
