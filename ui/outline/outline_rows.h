// The outline of a session: its sections in order, each with the note on it.
//
// A section on which several notes are written has a row for each of them. Very short sections share the note on
// the longest of them; the others have a row without a note. What stands before the first section has rows of its
// own only if it has notes of its own. The rows of a document cover it without gaps.
#pragma once

#include <QString>
#include <cstdint>
#include <optional>
#include <vector>

#include "storage/page_range.h"
#include "ui/engine/session_facts.h"

namespace palimpsest::ui {

struct OutlineRow {
    enum class Kind { Document, Section }; // Document: the title of one of several documents

    Kind kind = Kind::Section;
    QString title;                     // of the section; of the document before its first section
    int level = 1;                     // 1: not within another section
    storage::PageRange pages{};        // that its range stands on; empty: none
    int part = 0;                      // of `parts`, from 1, if the section has several rows
    int parts = 1;                     // rows of the section
    StreamRange range{};               // in the stream
    int64_t document = 0;              // its id
    std::optional<uint64_t> stretch{}; // first token, in the document, of what the note is about; nullopt: no note
    std::optional<uint64_t> noted_end{}; // stream index at which that stretch ends
    QString note{};                      // empty: none is written yet
    bool is_quoted = false;              // the note is sentences of the section

    bool operator==(const OutlineRow&) const = default;
};

std::vector<OutlineRow> outline_rows(const SessionFacts& facts);
// Whether both certainly have the same rows. Costs less than making them.
bool has_same_outline(const SessionFacts& a, const SessionFacts& b);
// Whether the note is about what the row's note is about.
bool is_on(const storage::Note& note, const OutlineRow& row);
void put_note(OutlineRow& row, const storage::Note& note);

} // namespace palimpsest::ui
