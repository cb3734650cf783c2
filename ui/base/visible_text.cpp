#include "ui/base/visible_text.h"

#include <QChar>
#include <QCoreApplication>
#include <QLocale>

namespace palimpsest::ui {
namespace {

constexpr int joiners_kept = 2, marks_kept = 6, hidden_spelled_out = 4;

enum class Shape { Plain, Mark, Joiner, Hidden };

QString count(qsizetype n)
{
    return QLocale().toString(static_cast<qlonglong>(n));
}

QString escape(char32_t character)
{
    return QStringLiteral("⟨U+%1⟩").arg(static_cast<uint>(character), 4, 16, QLatin1Char('0')).toUpper();
}

bool is_between(char32_t c, char32_t first, char32_t last)
{
    return c >= first && c <= last;
}

// Characters without width, which some scripts and emoji need.
bool is_joiner(char32_t c)
{
    return c == 0xad || c == 0x34f || c == 0x61c || is_between(c, 0x200b, 0x200f) || c == 0x2060 || c == 0xfeff ||
           is_between(c, 0xfe00, 0xfe0f) || is_between(c, 0xe0100, 0xe01ef);
}

bool is_hidden(char32_t c)
{
    if (c == '\n' || c == '\t') return false;
    if (c < 0x20 || is_between(c, 0x7f, 0x9f) || is_between(c, 0x2028, 0x202e)) return true;
    // Fillers that Unicode counts as letters or symbols, but that are invisible.
    if (c == 0x115f || c == 0x1160 || c == 0x3164 || c == 0xffa0 || c == 0x2800 || c == 0xfffc) return true;
    switch (QChar::category(c)) {
    case QChar::Other_Control:
    case QChar::Other_Format:
    case QChar::Other_Surrogate:
    case QChar::Other_NotAssigned:
        return true;
    default:
        return false;
    }
}

Shape shape_of(char32_t c)
{
    if ((c >= 0x20 && c < 0x7f) || c == '\n' || c == '\t') return Shape::Plain;
    if (is_joiner(c)) return Shape::Joiner;
    if (is_hidden(c)) return Shape::Hidden;
    const QChar::Category category = QChar::category(c);
    const bool mark = category == QChar::Mark_NonSpacing || category == QChar::Mark_Enclosing;
    return mark ? Shape::Mark : Shape::Plain;
}

struct Character {
    char32_t code = 0;
    int units = 1;
};

Character character_at(QStringView text, qsizetype i)
{
    const QChar c = text[i];
    if (c.isHighSurrogate() && i + 1 < text.size() && text[i + 1].isLowSurrogate())
        return {QChar::surrogateToUcs4(c, text[i + 1]), 2};
    return {c.unicode(), 1};
}

bool is_ordinary(QChar c)
{
    const char16_t u = c.unicode();
    return (u >= 0x20 && u < 0x7f) || u == '\n' || u == '\t' || (u >= 0xa0 && u < 0x300 && u != 0xad);
}

// Consecutive characters of one shape.
struct Run {
    qsizetype begin = 0, end = 0; // offsets in UTF-16 units
    qsizetype characters = 0;
    Shape shape = Shape::Plain;
};

Run run_at(QStringView text, qsizetype begin)
{
    Run run{begin, begin, 0, shape_of(character_at(text, begin).code)};
    while (run.end < text.size()) {
        const Character c = character_at(text, run.end);
        if (shape_of(c.code) != run.shape) break;
        run.end += c.units;
        ++run.characters;
    }
    return run;
}

void append_escapes(QString& out, QStringView text, const Run& run)
{
    if (run.characters > hidden_spelled_out) {
        out += QCoreApplication::translate("palimpsest::ui::VisibleText", "⟨%1 and %2 more hidden characters⟩")
                   .arg(escape(character_at(text, run.begin).code).mid(1).chopped(1), count(run.characters - 1));
        return;
    }
    for (qsizetype i = run.begin; i < run.end;) {
        const Character c = character_at(text, i);
        out += escape(c.code);
        i += c.units;
    }
}

void append_marks(QString& out, QStringView text, const Run& run)
{
    qsizetype i = run.begin;
    for (int kept = 0; kept < marks_kept && i < run.end; ++kept) {
        const int units = character_at(text, i).units;
        out += text.mid(i, units);
        i += units;
    }
    if (run.characters > marks_kept)
        out += QCoreApplication::translate("palimpsest::ui::VisibleText", "⟨%1 more combining marks⟩")
                   .arg(count(run.characters - marks_kept));
}

void append_run(QString& out, QStringView text, const Run& run)
{
    switch (run.shape) {
    case Shape::Plain:
        out += text.mid(run.begin, run.end - run.begin);
        return;
    case Shape::Mark:
        append_marks(out, text, run);
        return;
    case Shape::Joiner:
        if (run.characters <= joiners_kept) {
            out += text.mid(run.begin, run.end - run.begin);
            return;
        }
        [[fallthrough]];
    case Shape::Hidden:
        append_escapes(out, text, run);
        return;
    }
}

bool looks_like_ascii(char32_t c)
{
    if (c < 0x80) return false;
    switch (QChar::script(c)) {
    case QChar::Script_Latin: // such as ɑ and ı; accented letters look different
        return QChar::decomposition(c).isEmpty() && c > 0xff;
    case QChar::Script_Cyrillic:
    case QChar::Script_Greek:
    case QChar::Script_Armenian:
    case QChar::Script_Cherokee:
    case QChar::Script_Coptic:
    case QChar::Script_Lisu:
    case QChar::Script_Deseret:
        return true;
    default:
        break;
    }
    const QChar::Decomposition tag = QChar::decompositionTag(c); // full width, mathematical, small forms
    return (tag != QChar::NoDecomposition && tag != QChar::Canonical) || QChar::isPunct(c) || QChar::isSymbol(c) ||
           QChar::isSpace(c);
}

} // namespace

QString visible_text(QStringView foreign)
{
    qsizetype i = 0;
    while (i < foreign.size() && is_ordinary(foreign[i]))
        ++i;
    QString out = foreign.left(i).toString();
    if (i == foreign.size()) return out;
    out.reserve(foreign.size() + 64);
    while (i < foreign.size()) {
        const Run run = run_at(foreign, i);
        append_run(out, foreign, run);
        i = run.end;
    }
    return out;
}

bool is_plainly_visible(char32_t character)
{
    return shape_of(character) == Shape::Plain;
}

QString visible_address(QStringView address)
{
    QString out;
    for (qsizetype i = 0; i < address.size();) {
        const Character c = character_at(address, i);
        const bool shown = shape_of(c.code) == Shape::Plain && c.code != '\n' && c.code != '\t';
        if (shown) out += address.mid(i, c.units);
        if (!shown || looks_like_ascii(c.code)) out += escape(c.code);
        i += c.units;
    }
    return out;
}

} // namespace palimpsest::ui
