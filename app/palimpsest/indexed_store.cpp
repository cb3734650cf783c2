#include "app/palimpsest/indexed_store.h"

#include "kernels/base/error.h"
#include "storage/session/document_indexing.h"

namespace palimpsest::app {

using storage::open_store;
using Access = storage::Database::Access;

std::unique_ptr<storage::Store> open_indexed_store(const std::string& file, const SearchedDocuments& documents,
                                                   storage::PassageEncoder* encoder, storage::Listener& listener)
{
    auto store = open_store(file, Access::Read, listener.stop());
    const auto is_ready = [&] {
        const std::vector<int64_t> searched = documents(*store);
        return storage::unindexed(*store, searched).empty() &&
               (!encoder || storage::all_encoded(*store, searched, *encoder));
    };
    if (is_ready()) return store;
    store.reset();
    try {
        store = open_store(file, Access::Write, listener.stop());
    } catch (const Error& error) {
        if (error.kind() != ErrorKind::Busy && error.code() != ErrorCode::NewerDatabase) throw;
        store = open_store(file, Access::Read, listener.stop());
        storage::name_unindexed(*store, documents(*store), error.text(), listener);
        return store;
    }
    const std::vector<int64_t> searched = documents(*store);
    if (!storage::index_documents(*store, searched, listener, listener.stop()) ||
        (encoder && !storage::encode_documents(*store, searched, *encoder, listener, listener.stop())))
        throw storage::Interrupted{Text("stopped while indexing; run it again to start over")};
    store.reset();
    return open_store(file, Access::Read, listener.stop());
}

} // namespace palimpsest::app
