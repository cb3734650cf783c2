// The session that is open, which may be unsaved, or only its text if its model is unavailable.
//
// Used by the engine thread only.
#pragma once

#include <QString>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "storage/conversations.h"
#include "storage/session/listener.h"
#include "storage/session/store.h"
#include "storage/session/stored_session.h"
#include "ui/engine/detached_session.h"
#include "ui/engine/engine_thread.h"
#include "ui/engine/known_documents.h"
#include "ui/engine/loaded_model.h"
#include "ui/engine/sampling_request.h"
#include "ui/engine/session_facts.h"
#include "ui/engine/user_database.h"

namespace palimpsest::ui {

class OpenSession {
public:
    // The arguments must outlive this object.
    OpenSession(UserDatabase& database, LoadedModel& model, const SamplingRequest& wanted,
                storage::Listener& listener);

    storage::StoredSession* session() { return session_.get(); } // null: none is open, or only its text
    storage::StoredSession& require_session();                   // throws Error if none is open, or only its text
    storage::Store& store();                                     // the database of the open session
    bool is_any_open() const { return session_ || text_only_; }
    bool is_saved() const { return is_saved_; }
    bool is_open(const QString& name) const; // a saved session of this name
    bool is_open_or_opening(const QString& name) const { return is_open(name) || opening_ == name; }
    QString name() const;                                // REQUIRES: is_any_open
    std::string compute() const;                         // its product type; the default if none is open
    bool is_made_with(const engine::Model& model) const; // false: none is open, or one of another model
    std::shared_ptr<const SessionFacts> facts();         // null: none is open
    KnownDocuments& known() { return known_; }           // of the documents of store()
    storage::StoredOptions options_for(const NewSession& request) const;

    // begin, open and reopen REQUIRE that no session is open. begin may load the model again, because new sessions
    // have the default product type.
    void begin(const QString& name, const NewSession& request);
    void open(const storage::SessionInfo& session); // with its model, or else only its text
    // Opens a detached session again, after another could not be opened. It may have been renamed or removed
    // meanwhile, so it is looked up by id.
    void reopen(DetachedSession previous);

    // Stores pending turns and frees the cache, before another session is opened. Throws Error if some turns cannot
    // be stored, and then changes nothing.
    DetachedSession detach();
    void discard();                       // deletes a session into which nothing was read. REQUIRES: session()
    void close();                         // without storing pending turns
    void rename(const std::string& name); // REQUIRES: is_saved
    // Stored with the answer. Throws Error (PAL-DISK-01, PAL-DB) if that fails; it is then known until another
    // session is opened.
    void set_provenance(int64_t answer, Provenance provenance);

private:
    storage::Store& store_for(bool saved);
    void open_with_engine(const std::string& name, const storage::StoredOptions& options, bool saved);
    void load_provenances(int64_t session);
    storage::StoredOptions resume_options() const;

    UserDatabase& database_;
    LoadedModel& model_;
    const SamplingRequest& wanted_;
    storage::Listener& listener_;

    std::unique_ptr<UnsavedStore> unsaved_; // outlives session_
    int64_t last_unsaved_ = 0;              // the number of the last unsaved session
    std::unique_ptr<storage::StoredSession> session_;
    bool is_saved_ = true;
    std::optional<TextOnlySession> text_only_;  // set instead of session_
    QString opening_;                           // the session being opened; empty: none
    std::map<int64_t, Provenance> provenances_; // by answer
    KnownDocuments known_;
};

} // namespace palimpsest::ui
