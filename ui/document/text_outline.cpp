#include "ui/document/text_outline.h"

#include <algorithm>

#include "ui/base/place_text.h"
#include "ui/base/utf8.h"
#include "ui/base/visible_text.h"

namespace palimpsest::ui {
namespace {

bool begins_later(uint64_t token, const TextPart& part)
{
    return token < part.range.first;
}

// Sorts the parts and fills the gaps with framing. A part that overlaps an earlier one loses the overlap.
void fill_gaps(TextOutline& outline)
{
    std::vector<TextPart> named;
    named.swap(outline.parts);
    std::ranges::stable_sort(named, {}, [](const TextPart& part) { return part.range.first; });
    uint64_t at = 0;
    for (TextPart& part : named) {
        part.range.first = std::max(part.range.first, at);
        if (part.range.first >= part.range.last) continue;
        if (part.range.first > at) outline.parts.push_back({.range = {at, part.range.first}});
        at = part.range.last;
        outline.parts.push_back(std::move(part));
    }
    if (outline.tokens > at) outline.parts.push_back({.range = {at, outline.tokens}});
    outline.tokens = std::max(outline.tokens, at);
}

void add_pages(const DocumentPart& document, std::vector<PageStart>& pages)
{
    pages.push_back({{}, document.range.first});
    for (const storage::Page& page : document.pages) {
        const uint64_t token = document.range.first + page.first_token;
        if (token >= document.range.last) break;
        if (pages.back().token == token) pages.pop_back();
        pages.push_back({text_of(page.label), token});
    }
    pages.push_back({{}, document.range.last});
}

} // namespace

const TextPart& TextOutline::part_of(uint64_t token) const
{
    return *std::prev(std::upper_bound(parts.begin(), parts.end(), token, begins_later));
}

const Heading* TextOutline::heading_of(uint64_t token) const
{
    const auto after = std::ranges::upper_bound(headings, token, {}, &Heading::token);
    return after == headings.begin() ? nullptr : &*std::prev(after);
}

const PageStart* TextOutline::page_of(uint64_t token) const
{
    const auto after = std::ranges::upper_bound(pages, token, {}, &PageStart::token);
    return after == pages.begin() || std::prev(after)->label.isEmpty() ? nullptr : &*std::prev(after);
}

storage::PageRange TextOutline::pages_of(const StreamRange& range) const
{
    const uint64_t end = range.first < tokens ? std::min(range.last, part_of(range.first).range.last) : range.last;
    const PageStart *first = page_of(range.first), *last = page_of(std::max(end, range.first + 1) - 1);
    if (!first) {
        const auto next = std::ranges::find_if(pages, [&](const PageStart& page) {
            return page.token >= range.first && page.token < end && !page.label.isEmpty();
        });
        if (next != pages.end()) first = &*next;
    }
    if (!last) last = first;
    return first ? storage::PageRange{first->label.toStdString(), last->label.toStdString()} : storage::PageRange{};
}

// Returns the range from its first token in a document on; the whole range if no token is in a document.
StreamRange TextOutline::from_document(const StreamRange& range) const
{
    for (const TextPart& part : parts)
        if (part.kind == PartKind::Document && part.range.last > range.first && part.range.first < range.last)
            return {std::max(range.first, part.range.first), range.last};
    return range;
}

QString TextOutline::place_name(const StreamRange& range) const
{
    const StreamRange place = from_document(range);
    const Heading* heading = heading_of(place.first);
    return place_text(heading ? heading->title : QString(), pages_of(place));
}

uint64_t TextOutline::common_with(const TextOutline& other) const
{
    const auto [mine, theirs] = std::ranges::mismatch(parts, other.parts);
    if (mine == parts.end() || theirs == other.parts.end()) return std::min(tokens, other.tokens);
    const bool grew = mine->range.first == theirs->range.first && mine->kind == theirs->kind &&
                      mine->id == theirs->id && mine->kind == PartKind::Document;
    return grew ? std::min(mine->range.last, theirs->range.last) : std::min(mine->range.first, theirs->range.first);
}

TextOutline outline_of(const SessionFacts& facts, uint64_t tokens_seen)
{
    TextOutline outline{.tokens = tokens_seen, .parts = {}, .headings = {}, .pages = {}};
    for (const DocumentPart& document : facts.documents) {
        const QString title = visible_text(text_of(document.info.title)).simplified();
        outline.parts.push_back(
            {.range = document.range, .kind = PartKind::Document, .id = document.info.id, .title = title});
        outline.headings.push_back({.title = title, .token = document.range.first});
        for (const storage::Section& section : document.sections)
            outline.headings.push_back({.title = visible_text(text_of(section.title)).simplified(),
                                        .token = document.range.first + section.first_token,
                                        .level = std::max(1, section.level)});
    }
    for (const Turn& turn : facts.turns)
        outline.parts.push_back({.range = turn.range,
                                 .kind = turn.role == storage::Role::User ? PartKind::Question : PartKind::Answer,
                                 .id = turn.message,
                                 .title = {}});
    for (const DocumentPart& document : facts.documents)
        if (!document.pages.empty()) add_pages(document, outline.pages);
    std::ranges::stable_sort(outline.headings, {}, &Heading::token);
    std::ranges::stable_sort(outline.pages, {}, &PageStart::token);
    fill_gaps(outline);
    return outline;
}

} // namespace palimpsest::ui
