#include "storage/session/document_indexing.h"

#include <algorithm>

#include "kernels/base/error.h"
#include "kernels/base/printable.h"
#include "storage/passage_index.h"

namespace palimpsest::storage {

std::vector<int64_t> unindexed(Store& store, std::span<const int64_t> documents)
{
    std::vector<int64_t> missing = PassageIndex(store.database).missing();
    std::erase_if(missing, [&](int64_t document) {
        return std::find(documents.begin(), documents.end(), document) == documents.end();
    });
    return missing;
}

bool index_documents(Store& store, std::span<const int64_t> documents, Listener& listener,
                     const std::stop_token& stop)
{
    for (const int64_t document : unindexed(store, documents)) {
        const std::string title = printable(store.library.get(document).title);
        listener.note(Text("indexing the words of {0}, once", title));
        try {
            if (!PassageIndex(store.database).build(document, [&](uint64_t) { return !stop.stop_requested(); }))
                return false;
        } catch (const Error& error) {
            if (error.code() != ErrorCode::DamagedDocument) throw;
            listener.note(Text("{0} is not searched: {1}", title, error.text()));
        }
    }
    return true;
}

void name_unindexed(Store& store, std::span<const int64_t> documents, const Text& why, Listener& listener)
{
    for (const int64_t document : unindexed(store, documents))
        listener.note(Text("{0} is not searched: {1}", printable(store.library.get(document).title), why));
}

} // namespace palimpsest::storage
