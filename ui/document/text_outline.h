// The structure of the stream, in order: documents, messages, and the framing between them.
#pragma once

#include <QString>
#include <cstdint>
#include <vector>

#include "ui/engine/session_facts.h"

namespace palimpsest::ui {

enum class PartKind { Framing, Document, Question, Answer };

struct TextPart {
    StreamRange range;
    PartKind kind = PartKind::Framing;
    int64_t id = 0;  // of the document or message
    QString title{}; // of a document
    bool operator==(const TextPart&) const = default;
};

struct Heading {
    QString title;
    uint64_t token = 0; // stream index
    int level = 0;      // 0: the title of a document; 1: a section that is not within another
    bool operator==(const Heading&) const = default;
};

struct PageStart {
    QString label;      // as printed; empty: a document without pages begins
    uint64_t token = 0; // stream index
    bool operator==(const PageStart&) const = default;
};

struct TextOutline {
    uint64_t tokens = 0;
    std::vector<TextPart> parts;    // ascending, without gaps, up to `tokens`
    std::vector<Heading> headings;  // ascending; every document starts with one
    std::vector<PageStart> pages{}; // ascending; those without text are left out

    // REQUIRES: token < tokens. O(log parts).
    const TextPart& part_of(uint64_t token) const;
    // Returns the heading that applies to a token; null before the first.
    const Heading* heading_of(uint64_t token) const;
    // Returns the page that the token stands on; null if there is none.
    const PageStart* page_of(uint64_t token) const;
    // Returns the pages of a range, up to the end of the part that it begins in. Pages without a label are left
    // out.
    storage::PageRange pages_of(const StreamRange& range) const;
    // Returns heading and page of a token in words; empty before the first heading.
    QString place_name(uint64_t token) const { return place_name(StreamRange{token, token + 1}); }
    // Returns the heading and the pages of the range in words: of what stands in a document, if anything does.
    QString place_name(const StreamRange& range) const;
    StreamRange from_document(const StreamRange& range) const;
    // Returns the length of the common prefix of both outlines, in tokens.
    uint64_t common_with(const TextOutline& other) const;
};

// `tokens_seen`: length of the stream, if it is longer than the parts in `facts`.
TextOutline outline_of(const SessionFacts& facts, uint64_t tokens_seen = 0);

} // namespace palimpsest::ui
