// The contents of the database as the library shows them: a value without references to the database.
#pragma once

#include <QDateTime>
#include <QString>
#include <cstdint>
#include <vector>

#include "kernels/base/text.h"

namespace palimpsest::ui {

struct LibrarySession {
    int64_t id = 0;
    QString name, model_name;
    uint64_t tokens = 0;          // length of its stream
    uint64_t tokens_saved = 0;    // how many of them the newest checkpoint covers
    uint64_t document_tokens = 0; // length of its stream up to the end of its last document
    QDateTime changed;

    // Whether documents were not read to the end, or are not in the newest checkpoint.
    bool is_unfinished() const { return tokens_saved < document_tokens; }
};

// One document with the sessions that have read it. Sessions that have read the same file share one
// LibraryDocument; a session that has read several documents is in each of them.
struct LibraryDocument {
    std::vector<int64_t> ids; // of all stored copies; empty: the sessions have no document
    QString title, source;
    uint64_t tokens = 0;
    std::vector<LibrarySession> sessions; // most recently changed first
    bool is_kept = false;                 // in the library: it stays without sessions
    std::vector<Text> notes{};            // on what could not be read of it
};

struct LibraryContents {
    std::vector<LibraryDocument> documents; // most recently used first; at most one without ids, at the end
};

} // namespace palimpsest::ui
