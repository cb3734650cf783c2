#include "storage/transcript/stream_documents.h"

#include <algorithm>

namespace palimpsest::storage {

StreamDocuments::StreamDocuments(Library& library, const std::vector<StreamPart>& stream)
{
    uint64_t begin = 0;
    for (const StreamPart& part : stream) {
        const uint64_t end = begin + tokens_of(part);
        if (const StreamDocument* document = document_in(part))
            all_.push_back({.range = {begin, end},
                            .info = library.get(document->id),
                            .sections = SectionTree(library.sections(document->id)),
                            .pages = library.pages(document->id)});
        begin = end;
    }
}

std::vector<TranscriptDocument> StreamDocuments::list() const
{
    std::vector<TranscriptDocument> documents;
    for (const Known& known : all_)
        documents.push_back({known.info.title, known.info.format, known.info.author, known.info.tokens});
    return documents;
}

std::optional<TranscriptPlace> StreamDocuments::place(const StreamRange& range) const
{
    for (const Known& known : all_) {
        if (range.first < known.range.first || range.first >= known.range.last) continue;
        const uint64_t token = range.first - known.range.first;
        TranscriptPlace place{.document = known.info.title};
        if (const auto index = known.sections.of_token(token))
            for (const Section* section : known.sections.path(*index))
                place.section_path.push_back(section->title);
        const uint64_t end = std::min(range.last, known.range.last) - known.range.first;
        place.pages = pages_of(known.pages, token, end);
        return place;
    }
    return std::nullopt;
}

} // namespace palimpsest::storage
