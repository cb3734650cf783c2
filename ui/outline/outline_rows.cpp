#include "ui/outline/outline_rows.h"

#include <algorithm>
#include <map>
#include <utility>

#include "ui/base/utf8.h"
#include "ui/base/visible_text.h"

namespace palimpsest::ui {
namespace {

class DocumentRows {
public:
    DocumentRows(const DocumentPart& document, std::vector<OutlineRow>& rows)
        : document_(document), title_(visible_text(text_of(document.info.title)).simplified()), rows_(rows)
    {
    }

    void append(bool with_title)
    {
        if (with_title)
            rows_.push_back({.kind = OutlineRow::Kind::Document,
                             .title = title_,
                             .range = document_.range,
                             .document = document_.info.id});
        const auto sections = static_cast<int64_t>(document_.sections.size());
        for (int64_t section = has_text_before() ? -1 : 0; section < sections; ++section)
            append_section(section);
    }

private:
    // Whether what stands before the first section has rows of its own. A few words there belong to the first
    // section.
    bool has_text_before() const
    {
        const auto& stretches = document_.stretches;
        return document_.sections.empty() || (stretches && !stretches->empty() && stretches->front().section < 0);
    }
    uint64_t tokens() const { return document_.range.last - document_.range.first; }
    uint64_t begin_of(int64_t section) const
    {
        if (section < 0 || (section == 0 && !has_text_before())) return 0;
        const auto at = static_cast<size_t>(section);
        return at < document_.sections.size() ? std::min(document_.sections[at].first_token, tokens()) : tokens();
    }

    void append_section(int64_t section)
    {
        const uint64_t begin = begin_of(section), end = begin_of(section + 1);
        if (begin >= end) return;
        std::vector<storage::Stretch> stretches;
        for (; document_.stretches && next_ < document_.stretches->size(); ++next_) {
            const storage::Stretch& stretch = (*document_.stretches)[next_];
            if (stretch.section > section) break;
            if (stretch.section == section) stretches.push_back(stretch);
        }
        OutlineRow row{.title = section < 0 ? title_ : title_of(section),
                       .level = section < 0 ? 1 : level_of(section),
                       .document = document_.info.id};
        const size_t count = std::max<size_t>(stretches.size(), 1);
        uint64_t at = begin;
        for (size_t i = 0; i < count; ++i) {
            const uint64_t last = i + 1 < count ? std::clamp(stretches[i + 1].first_token, at, end) : end;
            row.part = count > 1 ? static_cast<int>(i) + 1 : 0;
            row.parts = static_cast<int>(count);
            row.range = {document_.range.first + at, document_.range.first + last};
            row.pages = storage::pages_of(document_.pages, at, last);
            if (!stretches.empty()) {
                row.stretch = stretches[i].first_token;
                row.noted_end = document_.range.first + stretches[i].end_token;
            }
            rows_.push_back(row);
            at = last;
        }
    }

    QString title_of(int64_t section) const
    {
        return visible_text(text_of(document_.sections[static_cast<size_t>(section)].title)).simplified();
    }

    int level_of(int64_t section) const
    {
        return std::max(1, document_.sections[static_cast<size_t>(section)].level);
    }

    const DocumentPart& document_;
    const QString title_;
    std::vector<OutlineRow>& rows_;
    size_t next_ = 0; // stretch
};

} // namespace

std::vector<OutlineRow> outline_rows(const SessionFacts& facts)
{
    std::vector<OutlineRow> rows;
    for (const DocumentPart& document : facts.documents)
        DocumentRows(document, rows).append(facts.documents.size() > 1);
    std::map<std::pair<int64_t, uint64_t>, const storage::Note*> notes; // by document and first token
    for (const storage::Note& note : facts.notes)
        notes[{note.document, note.about.first_token}] = &note;
    for (OutlineRow& row : rows)
        if (row.stretch)
            if (const auto on_it = notes.find({row.document, *row.stretch}); on_it != notes.end())
                put_note(row, *on_it->second);
    return rows;
}

bool has_same_outline(const SessionFacts& a, const SessionFacts& b)
{
    const auto same_section = [](const storage::Section& x, const storage::Section& y) {
        return x.title == y.title && x.first_token == y.first_token && x.level == y.level;
    };
    const auto same_page = [](const storage::Page& x, const storage::Page& y) {
        return x.label == y.label && x.first_token == y.first_token;
    };
    return a.notes == b.notes && std::ranges::equal(a.documents, b.documents, [&](const auto& x, const auto& y) {
               return x.info.id == y.info.id && x.info.title == y.info.title && x.range == y.range &&
                      x.stretches == y.stretches && std::ranges::equal(x.sections, y.sections, same_section) &&
                      std::ranges::equal(x.pages, y.pages, same_page);
           });
}

bool is_on(const storage::Note& note, const OutlineRow& row)
{
    return row.document == note.document && row.stretch == note.about.first_token;
}

void put_note(OutlineRow& row, const storage::Note& note)
{
    row.note = visible_text(text_of(note.text)).simplified();
    row.is_quoted = note.origin == storage::NoteOrigin::Quoted;
}

} // namespace palimpsest::ui
