#include "ui/engine/known_documents.h"

#include "storage/notes/note_plan.h"
#include "storage/passage_index.h"

namespace palimpsest::ui {

KnownDocuments::Stretches KnownDocuments::stretches(int64_t document, storage::Store& store)
{
    if (const auto known = stretches_.find(document); known != stretches_.end()) return known->second;
    storage::PassageIndex passages(store.database);
    if (!passages.is_complete(document)) return nullptr;
    auto all = std::make_shared<const std::vector<storage::Stretch>>(storage::NotePlan::of(passages.all(document)));
    return stretches_[document] = std::move(all);
}

const std::vector<storage::Section>& KnownDocuments::sections(int64_t document, storage::Store& store)
{
    if (const auto known = sections_.find(document); known != sections_.end()) return known->second;
    return sections_[document] = store.library.sections(document);
}

const std::vector<storage::Page>& KnownDocuments::pages(int64_t document, storage::Store& store)
{
    if (const auto known = pages_.find(document); known != pages_.end()) return known->second;
    return pages_[document] = store.library.pages(document);
}

void KnownDocuments::forget()
{
    stretches_.clear();
    sections_.clear();
    pages_.clear();
}

} // namespace palimpsest::ui
