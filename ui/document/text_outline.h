// What the stream is made of, in order: documents, messages, and the framing between them.
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
    bool operator==(const Heading&) const = default;
};

struct TextOutline {
    uint64_t tokens = 0;
    std::vector<TextPart> parts;   // ascending, without gaps, up to `tokens`
    std::vector<Heading> headings; // ascending; a document begins with one of its own

    // REQUIRES: token < tokens. O(log parts).
    const TextPart& part_of(uint64_t token) const;
    // The heading a token stands under; null before the first.
    const Heading* heading_of(uint64_t token) const;
    // The tokens that stand in both outlines in the same place.
    uint64_t common_with(const TextOutline& other) const;
};

// `tokens_seen`: of the stream, where it is longer than what the facts name.
TextOutline outline_of(const SessionFacts& facts, uint64_t tokens_seen = 0);

} // namespace palimpsest::ui
