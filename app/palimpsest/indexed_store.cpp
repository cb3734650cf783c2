#include "app/palimpsest/indexed_store.h"

#include "kernels/base/error.h"
#include "kernels/base/printable.h"
#include "storage/owner.h"
#include "storage/session/document_indexing.h"

namespace palimpsest::app {
namespace {

using storage::open_store;
using storage::PassageEncoder;
using storage::Store;
using Access = storage::Database::Access;
using Documents = std::vector<int64_t>;

bool is_ready(Store& store, const Documents& searched, PassageEncoder* encoder)
{
    return storage::unindexed(store, searched).empty() &&
           (!encoder || storage::all_encoded(store, searched, *encoder));
}

void prepare(Store& store, const Documents& searched, PassageEncoder* encoder, storage::Listener& listener)
{
    if (!storage::index_documents(store, searched, listener, listener.stop()) ||
        (encoder && !storage::encode_documents(store, searched, *encoder, listener, listener.stop())))
        throw storage::Interrupted{Text("stopped while indexing; run it again to start over")};
}

} // namespace

std::unique_ptr<Store> open_to_write(const std::string& file, storage::Listener& listener)
{
    if (const auto process = storage::owner_of(storage::database_file(file)))
        listener.note(Text("waiting for another Palimpsest (process {0}), which is writing the sessions",
                           printable(*process)));
    return open_store(file, Access::Write, listener.stop());
}

std::unique_ptr<Store> open_indexed_store(const std::string& file, const SearchedDocuments& documents,
                                          PassageEncoder* encoder, storage::Listener& listener)
{
    auto store = open_store(file, Access::Read, listener.stop());
    if (is_ready(*store, documents(*store), encoder)) return store;
    store.reset();
    try {
        store = open_to_write(file, listener);
        prepare(*store, documents(*store), encoder, listener);
        store.reset();
        return open_store(file, Access::Read, listener.stop());
    } catch (const Error& error) { // it is searched as far as it can be
        store.reset();
        store = open_store(file, Access::Read, listener.stop());
        storage::name_unindexed(*store, documents(*store), error.text(), listener);
        // A search with an encoder that fails says so itself.
        if (encoder && error.code() != ErrorCode::ModelG15)
            storage::name_unencoded(*store, documents(*store), *encoder, error.text(), listener);
        return store;
    }
}

} // namespace palimpsest::app
