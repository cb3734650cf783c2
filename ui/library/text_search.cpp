#include "ui/library/text_search.h"

#include <algorithm>

namespace palimpsest::ui {
namespace {

constexpr qsizetype context = 60; // characters on each side of a match

uint64_t utf8_bytes(QStringView text)
{
    uint64_t bytes = 0;
    for (const QChar c : text)
        bytes += c.unicode() < 0x80 ? 1 : c.unicode() < 0x800 || c.isSurrogate() ? 2 : 3;
    return bytes;
}

// Replaces line ends, tabs and invisible characters with spaces, one for one.
QString one_line(QStringView text)
{
    QString line = text.toString();
    for (QChar& c : line)
        if (c.isSpace() || c.category() == QChar::Other_Control || c.category() == QChar::Other_Format) c = u' ';
    return line;
}

} // namespace

TextSearch::TextSearch(const QString& wanted) : wanted_(wanted, Qt::CaseInsensitive), length_(wanted.size()) {}

bool TextSearch::feed(std::string_view utf8, const Visit& visit)
{
    text_ += decode_(QByteArrayView(utf8.data(), static_cast<qsizetype>(utf8.size())));
    return look(false, visit);
}

bool TextSearch::finish(const Visit& visit)
{
    return look(true, visit);
}

bool TextSearch::look(bool at_end, const Visit& visit)
{
    if (length_ == 0) return true;
    // Hold back a match near the end until the text behind it arrives, or the end of the text is reached.
    const qsizetype last = text_.size() - length_ - (at_end ? 0 : context + 1);
    while (looked_ <= last) {
        const qsizetype at = wanted_.indexIn(text_, looked_);
        if (at < 0 || at > last) {
            looked_ = std::max(looked_, at < 0 ? last + 1 : at);
            break;
        }
        looked_ = at + length_;
        if (!visit(match_at(at))) return false;
    }
    const qsizetype used = std::max<qsizetype>(0, looked_ - context - 1);
    first_byte_ += utf8_bytes(QStringView(text_).left(used));
    text_.remove(0, used);
    looked_ -= used;
    return true;
}

TextMatch TextSearch::match_at(qsizetype at) const
{
    const QStringView text(text_);
    qsizetype from = std::max<qsizetype>(0, at - context);
    qsizetype to = std::min(text.size(), at + length_ + context);
    while (from > 0 && from < at && !text[from - 1].isSpace())
        ++from; // start at a whole word
    while (to < text.size() && to > at + length_ && !text[to].isSpace())
        --to;
    const QString before = from > 0 ? QStringLiteral("…") : QString();
    return {.byte = first_byte_ + utf8_bytes(text.left(at)),
            .bytes = utf8_bytes(text.mid(at, length_)),
            .snippet =
                before + one_line(text.mid(from, to - from)) + (to < text.size() ? QStringLiteral("…") : QString()),
            .first = static_cast<int>(before.size() + at - from),
            .count = static_cast<int>(length_)};
}

} // namespace palimpsest::ui
