// Collects the SessionFacts of a session. Runs on the engine thread.
#pragma once

#include <map>

#include "storage/session/store.h"
#include "storage/session/stored_session.h"
#include "ui/engine/session_facts.h"

namespace palimpsest::ui {

// `provenances`: keyed by message. Throws the errors of storage.
SessionFacts facts_of(storage::StoredSession& session, storage::Store& store, bool saved,
                      const std::map<int64_t, Provenance>& provenances);
// For a session whose model is unavailable, from stored data only; `why` becomes text_only. Throws the errors of
// storage.
SessionFacts stored_facts(const storage::SessionInfo& session, storage::Store& store, const QString& why);

} // namespace palimpsest::ui
