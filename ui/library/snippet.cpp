#include "ui/library/snippet.h"

#include <QSet>
#include <algorithm>
#include <utility>

#include "ui/base/utf8.h"

namespace palimpsest::ui {
namespace {

constexpr qsizetype max_before =
    24;                           // characters before the first mark: in a narrow list, the mark is still visible
constexpr size_t max_marks = 500; // that are looked at

// A text on one line.
class LineBuilder {
public:
    void append(std::string_view utf8, bool is_marked)
    {
        bool begins = is_marked;
        for (const QChar c : text_of(utf8)) {
            if (is_blank(c)) {
                space_follows_ = !line_.text.isEmpty();
                continue;
            }
            if (std::exchange(space_follows_, false)) line_.text += u' ';
            if (std::exchange(begins, false)) line_.marks.push_back({static_cast<int>(line_.text.size()), 0});
            line_.text += c;
            if (is_marked)
                line_.marks.back().count = static_cast<int>(line_.text.size()) - line_.marks.back().first;
        }
    }
    Snippet take() { return std::move(line_); }

private:
    static bool is_blank(QChar c)
    {
        return c.isSpace() || c.category() == QChar::Other_Control || c.category() == QChar::Other_Format;
    }

    Snippet line_;
    bool space_follows_ = false;
};

Snippet on_one_line(std::string_view text, std::span<const engine::TextRange> found)
{
    LineBuilder line;
    size_t at = 0;
    for (const engine::TextRange& range : found.first(std::min(found.size(), max_marks))) {
        line.append(text.substr(at, range.begin - at), false);
        line.append(range.in(text), true);
        at = range.end;
    }
    line.append(text.substr(at), false);
    return line.take();
}

// The mark with which the piece begins that has the most different words; the first of several.
size_t best_first_mark(const Snippet& line)
{
    size_t best = 0;
    qsizetype most = 0;
    for (size_t first = 0; first < line.marks.size(); ++first) {
        QSet<QString> words;
        const qsizetype end = line.marks[first].first + Snippet::max_characters - max_before;
        for (size_t i = first; i < line.marks.size() && line.marks[i].first + line.marks[i].count <= end; ++i)
            words.insert(line.text.mid(line.marks[i].first, line.marks[i].count).toCaseFolded());
        if (words.size() > most) most = words.size(), best = first;
    }
    return best;
}

bool cuts_a_pair(const QString& text, qsizetype at)
{
    return at > 0 && at < text.size() && text[at - 1].isHighSurrogate() && text[at].isLowSurrogate();
}

qsizetype begin_before(const QString& text, qsizetype mark)
{
    const qsizetype earliest = std::max<qsizetype>(0, mark - max_before);
    if (earliest == 0) return 0;
    const qsizetype space = text.indexOf(u' ', earliest - 1);
    qsizetype begin = space >= 0 && space < mark ? space + 1 : earliest;
    if (cuts_a_pair(text, begin)) ++begin;
    return begin;
}

qsizetype end_after(const QString& text, qsizetype begin, qsizetype mark_end)
{
    const qsizetype latest = begin + Snippet::max_characters;
    if (latest >= text.size()) return text.size();
    const qsizetype space = text.lastIndexOf(u' ', latest);
    qsizetype end = space >= mark_end ? space : latest;
    if (cuts_a_pair(text, end)) --end;
    return end;
}

} // namespace

Snippet snippet_of(std::string_view text, std::span<const engine::TextRange> found)
{
    const Snippet line = on_one_line(text, found);
    const Snippet::Mark first = line.marks.empty() ? Snippet::Mark() : line.marks[best_first_mark(line)];
    const qsizetype begin = begin_before(line.text, first.first);
    const qsizetype end = end_after(line.text, begin, first.first + first.count);
    Snippet snippet;
    if (begin > 0) snippet.text = u'…';
    const auto shift = static_cast<int>(snippet.text.size() - begin);
    snippet.text += line.text.mid(begin, end - begin);
    if (end < line.text.size()) snippet.text += u'…';
    for (const Snippet::Mark& mark : line.marks) {
        const int from = std::max(mark.first, static_cast<int>(begin));
        const int to = std::min(mark.first + mark.count, static_cast<int>(end));
        if (from < to) snippet.marks.push_back({from + shift, to - from});
    }
    return snippet;
}

} // namespace palimpsest::ui
