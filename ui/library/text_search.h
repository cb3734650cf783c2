// Looks for words in a long text that comes block by block, whatever their case, across the blocks' borders too.
#pragma once

#include <QString>
#include <QStringDecoder>
#include <QStringMatcher>
#include <cstdint>
#include <functional>
#include <string_view>

namespace palimpsest::ui {

struct TextMatch {
    uint64_t byte = 0;        // in the UTF-8 of the whole text
    uint64_t bytes = 0;       // that it takes there
    QString snippet;          // one line: the match and what stands around it
    int first = 0, count = 0; // of the match within the snippet
};

class TextSearch {
public:
    using Visit = std::function<bool(const TextMatch&)>; // false: enough

    explicit TextSearch(const QString& wanted);

    // False once `visit` said so. Memory is that of two blocks.
    bool feed(std::string_view utf8, const Visit& visit);
    // What was held back for the text behind it.
    bool finish(const Visit& visit);

private:
    bool look(bool at_end, const Visit& visit);
    TextMatch match_at(qsizetype at) const;

    QStringMatcher wanted_;
    qsizetype length_;
    QStringDecoder decode_{QStringDecoder::Utf8,
                           QStringDecoder::Flag::ConvertInitialBom}; // it is a part of the text
    QString text_;                                                   // not yet looked through, behind some context
    qsizetype looked_ = 0;                                           // of text_
    uint64_t first_byte_ = 0;                                        // of text_
};

} // namespace palimpsest::ui
