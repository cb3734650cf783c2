#include "storage/session/structure_finder.h"

#include <iterator>
#include <utility>

namespace palimpsest::storage {

StructureFinder::StructureFinder(std::span<const Section> sections, std::vector<Page> pages)
    : sections_(engine::Markup::Given), pages_(std::move(pages))
{
    for (const Section& section : sections)
        sections_->add(section.level, section.title, section.first_byte);
}

void StructureFinder::take_from_document()
{
    if (!document_) return;
    if (!sections_) sections_.emplace(document_->markup());
    for (const DocumentHeading& heading : document_->take_headings())
        sections_->add(heading.level, heading.title, heading.first_byte);
    for (DocumentPage& page : document_->take_pages())
        pages_.push_back({.label = std::move(page.label), .first_byte = page.first_byte});
}

void StructureFinder::push(std::string_view clean, std::span<const engine::EncodedToken> tokens)
{
    take_from_document();
    sections_->push(clean);
    sections_->push(tokens);
    for (const engine::EncodedToken& token : tokens) {
        for (; placed_ < pages_.size() && token.end > pages_[placed_].first_byte; ++placed_)
            pages_[placed_].first_token = tokens_;
        ++tokens_;
    }
}

// Pages at the end have no text, and begin after the last token.
void StructureFinder::finish()
{
    push({}, {});
    sections_->finish();
    for (; placed_ < pages_.size(); ++placed_)
        pages_[placed_].first_token = tokens_;
}

std::vector<Section> StructureFinder::take_sections()
{
    std::vector<Section> found;
    for (engine::Heading& heading : sections_->take())
        found.push_back({.title = std::move(heading.title),
                         .first_token = heading.first_token,
                         .first_byte = heading.first_byte,
                         .level = heading.level});
    return found;
}

std::vector<Page> StructureFinder::take_pages()
{
    const auto end = pages_.begin() + static_cast<std::ptrdiff_t>(std::exchange(placed_, 0));
    std::vector<Page> found(std::make_move_iterator(pages_.begin()), std::make_move_iterator(end));
    pages_.erase(pages_.begin(), end);
    return found;
}

} // namespace palimpsest::storage
