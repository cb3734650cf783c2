// The documents of a session's stream, and where its tokens stand in them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "storage/conversations.h"
#include "storage/library.h"
#include "storage/page_range.h"
#include "storage/provenance.h"
#include "storage/section_tree.h"

namespace palimpsest::storage {

// A place in a document.
struct TranscriptPlace {
    std::string document{};                  // title
    std::vector<std::string> section_path{}; // titles, outermost first; empty: before the first section
    PageRange pages{};
    bool operator==(const TranscriptPlace&) const = default;
};

struct TranscriptDocument {
    std::string title{}, format{}, author{}; // empty: not known
    uint64_t tokens = 0;
};

class StreamDocuments {
public:
    // Throws Error as Library does. Cost: reads the sections and pages of the documents.
    StreamDocuments(Library& library, const std::vector<StreamPart>& stream);

    std::vector<TranscriptDocument> list() const;
    // The section of the first token of `range`, and the pages of all; nullopt if that token is in no document.
    std::optional<TranscriptPlace> place(const StreamRange& range) const;

private:
    struct Known {
        StreamRange range{};
        DocumentInfo info{};
        SectionTree sections{};
        std::vector<Page> pages{};
    };
    std::vector<Known> all_;
};

} // namespace palimpsest::storage
