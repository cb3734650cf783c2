#include "ui/engine/document_stretches.h"

#include "storage/notes/note_plan.h"
#include "storage/passage_index.h"

namespace palimpsest::ui {

DocumentStretches::Stretches DocumentStretches::of(int64_t document, storage::Store& store)
{
    if (const auto known = known_.find(document); known != known_.end()) return known->second;
    storage::PassageIndex passages(store.database);
    if (!passages.is_complete(document)) return nullptr;
    auto all = std::make_shared<const std::vector<storage::Stretch>>(storage::NotePlan::of(passages.all(document)));
    return known_[document] = std::move(all);
}

} // namespace palimpsest::ui
