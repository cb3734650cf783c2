// What was read of the documents of a database: a stored document never changes.
//
// Used by the engine thread only.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "storage/document_structure.h"
#include "storage/notes/note.h"
#include "storage/session/store.h"

namespace palimpsest::ui {

class KnownDocuments {
public:
    using Stretches = std::shared_ptr<const std::vector<storage::Stretch>>;

    // Of the notes. Null: the document's passages are not indexed yet. Cost: once, proportional to their number.
    Stretches stretches(int64_t document, storage::Store& store);
    // As Library has them, each read once.
    const std::vector<storage::Section>& sections(int64_t document, storage::Store& store);
    const std::vector<storage::Page>& pages(int64_t document, storage::Store& store);
    void forget(); // call before documents of another database are asked for

private:
    std::map<int64_t, Stretches> stretches_;
    std::map<int64_t, std::vector<storage::Section>> sections_;
    std::map<int64_t, std::vector<storage::Page>> pages_;
};

} // namespace palimpsest::ui
