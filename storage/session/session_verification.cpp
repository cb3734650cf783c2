#include "storage/session/session_verification.h"

#include <vector>

#include "kernels/base/error.h"
#include "kernels/base/printable.h"
#include "storage/notes/notes.h"
#include "storage/provenance.h"

namespace palimpsest::storage {
namespace {

// Throws if something is damaged that is left out; the session can be used without it.
void require_none_left_out(const std::string& session, const Text& damaged, size_t count)
{
    if (count > 0)
        throw Error(ErrorKind::Failed, ErrorCode::DamagedDatabase, Text("session '{0}'", printable(session)),
                    damaged, Text("they are left out; the rest can be used"));
}

} // namespace

VerifiedSession verified_session(Store& store, const std::string& name)
{
    const SQLite::Transaction one_state(store.database.sql(), SQLite::TransactionBehavior::DEFERRED);
    VerifiedSession verified{.info = store.conversations.get(name)};
    const int64_t id = verified.info.id;
    for (const SnapshotInfo& snapshot : store.snapshots.of(id))
        store.snapshots.load(snapshot.id);
    for (const Message& message : store.conversations.messages(id))
        if (message.damaged)
            throw Error(ErrorKind::Failed, ErrorCode::DamagedDatabase, Text("session '{0}'", printable(name)),
                        Text("message {0} does not match its checksum", message.id),
                        Text("it is shown as damaged; the rest can be used"));
    const std::vector<StreamPart> stream = store.conversations.stream(id);
    for (const StreamPart& part : stream)
        if (const auto* document = document_in(part))
            verified.document_tokens += store.library.verify(document->id);
    store.conversations.fade_record(id);
    const size_t notes = Notes(store.database).damaged(id),
                 provenances = Provenances(store.database).damaged(id, tokens_of(stream));
    require_none_left_out(name, Text("{0} notes do not match their checksums", notes), notes);
    require_none_left_out(name, Text("where {0} answers come from does not match its checksum", provenances),
                          provenances);
    return verified;
}

} // namespace palimpsest::storage
