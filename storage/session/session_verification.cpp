#include "storage/session/session_verification.h"

#include "kernels/base/error.h"
#include "kernels/base/printable.h"

namespace palimpsest::storage {

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
    for (const StreamPart& part : store.conversations.stream(id))
        if (const auto* document = document_in(part))
            verified.document_tokens += store.library.verify(document->id);
    store.conversations.fade_record(id);
    return verified;
}

} // namespace palimpsest::storage
