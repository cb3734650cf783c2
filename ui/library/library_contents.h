// What the database holds, as the library shows it. A finished value.
#pragma once

#include <QDateTime>
#include <QString>
#include <cstdint>
#include <vector>

namespace palimpsest::ui {

struct LibrarySession {
    int64_t id = 0;
    QString name, model_name;
    uint64_t tokens = 0;          // of its stream
    uint64_t tokens_saved = 0;    // of those, that its newest saved state has read
    uint64_t document_tokens = 0; // of its stream, up to the end of its last document
    QDateTime changed;

    // Its documents were not read to their end, or no state that has read them is kept.
    bool is_unfinished() const { return tokens_saved < document_tokens; }
};

// One document and what was begun with it. A document that several sessions read from the same file is one.
struct LibraryDocument {
    std::vector<int64_t> ids; // empty: none, these are sessions without a document
    QString title, source;
    uint64_t tokens = 0;
    std::vector<LibrarySession> sessions; // the last changed first
};

struct LibraryContents {
    std::vector<LibraryDocument> documents; // the last used first; at most one without ids, at the end
    uint64_t sessions() const
    {
        uint64_t count = 0;
        for (const LibraryDocument& document : documents)
            count += document.sessions.size();
        return count;
    }
};

} // namespace palimpsest::ui
