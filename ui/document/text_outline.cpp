#include "ui/document/text_outline.h"

#include <algorithm>

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
    TextOutline outline{.tokens = tokens_seen, .parts = {}, .headings = {}};
    for (const DocumentPart& document : facts.documents) {
        const QString title = QString::fromStdString(document.info.title);
        outline.parts.push_back(
            {.range = document.range, .kind = PartKind::Document, .id = document.info.id, .title = title});
        outline.headings.push_back({title, document.range.first});
        for (const storage::Section& section : document.sections)
            outline.headings.push_back(
                {QString::fromStdString(section.title), document.range.first + section.first_token});
    }
    for (const Turn& turn : facts.turns)
        outline.parts.push_back({.range = turn.range,
                                 .kind = turn.role == storage::Role::User ? PartKind::Question : PartKind::Answer,
                                 .id = turn.message,
                                 .title = {}});
    std::ranges::stable_sort(outline.headings, {}, &Heading::token);
    fill_gaps(outline);
    return outline;
}

} // namespace palimpsest::ui
