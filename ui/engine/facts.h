// Gathers what the window shows of a session. On the engine's thread.
#pragma once

#include <map>

#include "storage/session/store.h"
#include "storage/session/stored_session.h"
#include "ui/engine/session_facts.h"

namespace palimpsest::ui {

// `provenances`: by message. Throws Error as storage does.
SessionFacts facts_of(storage::StoredSession& session, storage::Store& store, bool saved,
                      const std::map<int64_t, Provenance>& provenances);
// Of one whose model cannot be had, from what is stored; `why`: text_only. Throws Error as storage does.
SessionFacts stored_facts(const storage::SessionInfo& session, storage::Store& store, const QString& why);

} // namespace palimpsest::ui
