#include "storage/session/session_verification.h"

#include <vector>

#include "kernels/base/error.h"
#include "kernels/base/printable.h"
#include "storage/notes/notes.h"
#include "storage/provenance.h"

namespace palimpsest::storage {
namespace {

// Throws: something of the session is damaged.
[[noreturn]] void fail(const std::string& session, const Text& what, const Text& then)
{
    throw Error(ErrorKind::Failed, ErrorCode::DamagedDatabase, Text("session '{0}'", printable(session)), what,
                then);
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
            fail(name, Text("message {0} does not match its checksum", message.id),
                 Text("it is shown as damaged; the rest can be used"));
    const std::vector<StreamPart> stream = store.conversations.stream(id);
    for (const StreamPart& part : stream)
        if (const auto* document = document_in(part))
            verified.document_tokens += store.library.verify(document->id);
    store.conversations.fade_record(id);
    if (const size_t notes = Notes(store.database).count_left_out(id))
        fail(name, Text("damaged notes: {0}", notes),
             Text("they are left out, and written again when notes are wanted"));
    if (const size_t answers = Provenances(store.database).count_left_out(id, tokens_of(stream)))
        fail(name, Text("answers whose stored sources are damaged: {0}", answers),
             Text("the answers are whole; only their sources are not shown"));
    return verified;
}

} // namespace palimpsest::storage
