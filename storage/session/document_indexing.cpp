#include "storage/session/document_indexing.h"

#include <algorithm>

#include "kernels/base/byte_quantity.h"
#include "kernels/base/error.h"
#include "kernels/base/printable.h"
#include "storage/passage_index.h"

namespace palimpsest::storage {

std::vector<int64_t> unindexed(Store& store, std::span<const int64_t> documents)
{
    std::vector<int64_t> missing = PassageIndex(store.database).missing();
    std::erase_if(missing, [&](int64_t document) {
        return store.unindexable.contains(document) ||
               std::find(documents.begin(), documents.end(), document) == documents.end();
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
            if (error.code() != ErrorCode::DamagedDocument && error.kind() != ErrorKind::Resources) throw;
            store.unindexable.insert(document);
            listener.note(Text("{0} is not searched: {1}", title, error.text()));
        }
    }
    return true;
}

bool encode_documents(Store& store, std::span<const int64_t> documents, PassageEncoder& encoder, Listener& listener,
                      const std::stop_token& stop)
{
    constexpr int64_t many = 64;
    for (const int64_t document : documents) {
        const int64_t passages = encoder.missing(store.database, document);
        if (passages > many)
            listener.note(Text("encoding {0} passages of {1}, once, so that they are found by their meaning",
                               format_count(static_cast<uint64_t>(passages)),
                               printable(store.library.get(document).title)));
        if (!encoder.encode(store.database, document, UINT64_MAX, stop)) return false;
    }
    return true;
}

bool all_encoded(Store& store, std::span<const int64_t> documents, PassageEncoder& encoder)
{
    return std::all_of(documents.begin(), documents.end(),
                       [&](int64_t document) { return encoder.missing(store.database, document) == 0; });
}

void name_unindexed(Store& store, std::span<const int64_t> documents, const Text& why, Listener& listener)
{
    for (const int64_t document : unindexed(store, documents))
        listener.note(Text("{0} is not searched: {1}", printable(store.library.get(document).title), why));
}

void name_unencoded(Store& store, std::span<const int64_t> documents, PassageEncoder& encoder, const Text& why,
                    Listener& listener)
{
    for (const int64_t document : documents)
        if (encoder.missing(store.database, document) > 0)
            listener.note(
                Text("{0} is searched by its words alone: {1}", printable(store.library.get(document).title), why));
}

} // namespace palimpsest::storage
