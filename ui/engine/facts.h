// Collects the SessionFacts of a session. Runs on the engine thread.
#pragma once

#include <map>

#include "storage/session/store.h"
#include "storage/session/stored_session.h"
#include "ui/engine/known_documents.h"
#include "ui/engine/session_facts.h"

namespace palimpsest::ui {

// `provenances`: keyed by message. `known`: of the store. Throws the errors of storage.
SessionFacts facts_of(storage::StoredSession& session, storage::Store& store, bool saved,
                      const std::map<int64_t, Provenance>& provenances, KnownDocuments& known);
// Collects the facts of a session whose model is unavailable, from stored data only; `why` becomes text_only.
// Throws the errors of storage.
SessionFacts stored_facts(const storage::SessionInfo& session, storage::Store& store, const QString& why,
                          const std::map<int64_t, Provenance>& provenances, KnownDocuments& known);

// Returns how many tokens of the documents are among the first `computed` tokens of the stream.
uint64_t document_tokens_read(const std::vector<DocumentPart>& documents, uint64_t computed);

} // namespace palimpsest::ui
