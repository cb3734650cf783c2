// The passages of stored documents, and a full-text index of their words (SQLite's FTS5: bm25, Porter stems).
//
// Passages follow from the stored text, so backups leave them out, and exports their words: a document that lacks
// them is indexed again. engine/text/passage_cutter.h says where they are cut.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "storage/database.h"

namespace palimpsest::storage {

struct StoredPassage {
    int64_t document = 0;
    int64_t index = 0;                       // in the document, from 0
    uint64_t first_token = 0, end_token = 0; // of the document, half-open
    uint64_t first_byte = 0, end_byte = 0;   // of its cleaned text, half-open
    int64_t section = -1;                    // index of the section; -1: before the first

    uint64_t tokens() const { return end_token - first_token; }
};

class PassageIndex {
public:
    // Called with the number of bytes that were indexed; false: stop.
    using Progress = std::function<bool(uint64_t bytes)>;

    explicit PassageIndex(Database& database) : db_(database) {}

    // Cuts and indexes a stored document, in transactions of at most 512 passages; replaces what an earlier run
    // that was stopped has left. Returns false if it was stopped: no passage is left then. Throws Error as Library
    // does.
    bool build(int64_t document, const Progress& go_on = {});
    bool is_complete(int64_t document);
    std::vector<int64_t> missing(); // documents that are not indexed, oldest first

    std::optional<StoredPassage> get(int64_t document, int64_t index);
    std::vector<StoredPassage> all(int64_t document); // in order
    // The text of a passage, as stored with the document.
    std::string text(const StoredPassage& passage);

private:
    bool insert_all(int64_t document, const Progress& go_on);
    void remove(int64_t document);

    Database& db_;
};

} // namespace palimpsest::storage
