// The stretches of documents that notes are about, remembered: a stored document never changes.
//
// Used by the engine thread only.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "storage/notes/note.h"
#include "storage/session/store.h"

namespace palimpsest::ui {

class DocumentStretches {
public:
    using Stretches = std::shared_ptr<const std::vector<storage::Stretch>>;

    // Null: the document's passages are not indexed yet. Cost: once, proportional to their number.
    Stretches of(int64_t document, storage::Store& store);
    void forget() { known_.clear(); } // call before documents of another database are asked for

private:
    std::map<int64_t, Stretches> known_;
};

} // namespace palimpsest::ui
