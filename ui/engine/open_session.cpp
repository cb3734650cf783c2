#include "ui/engine/open_session.h"

#include <utility>

#include "kernels/base/printable.h"
#include "storage/session/exported_session.h"
#include "storage/session/scoped_value.h"
#include "storage/session/session_settings.h"
#include "ui/base/wording.h"
#include "ui/engine/facts.h"

namespace palimpsest::ui {
namespace {

Error why_text_only(const storage::SessionInfo& session, const Error& model)
{
    const Text subject("session '{0}'", printable(session.name));
    if (!storage::readable_settings(session))
        return {ErrorKind::Failed, ErrorCode::DamagedDatabase, subject,
                Text("only its text is here, for {0}", storage::settings_are_unreadable()),
                Text("open its document in a new session")};
    return {
        ErrorKind::Failed, ErrorCode::IncompatibleSnapshot, subject,
        Text("only its text is here, for its model {0} cannot be used: {1}, {2}", printable(session.model_name),
             model.subject(), model.text()),
        Text("put the file of the model back and open the session again, or open its document in a new session")};
}

} // namespace

OpenSession::OpenSession(UserDatabase& database, LoadedModel& model, const SamplingRequest& wanted,
                         storage::Listener& listener)
    : database_(database), model_(model), wanted_(wanted), listener_(listener)
{
}

storage::StoredSession& OpenSession::require_session()
{
    if (text_only_) throw Error(text_only_->why);
    if (!session_)
        throw Error(ErrorKind::Usage, ErrorCode::SessionNotFound, Text("session"), Text("none is open"),
                    Text("open a document or a session"));
    return *session_;
}

storage::Store& OpenSession::store()
{
    return store_for(is_saved_);
}

storage::Store& OpenSession::store_for(bool saved)
{
    return saved ? database_.store() : unsaved_->store;
}

bool OpenSession::is_open(const QString& name) const
{
    if (text_only_) return QString::fromStdString(text_only_->session.name) == name;
    return session_ && is_saved_ && QString::fromStdString(session_->name()) == name;
}

QString OpenSession::name() const
{
    return QString::fromStdString(text_only_ ? text_only_->session.name : session_->name());
}

std::string OpenSession::compute() const
{
    const auto settings = text_only_ ? storage::readable_settings(text_only_->session) : std::nullopt;
    if (settings) return settings->compute;
    return session_ ? model_.compute() : LoadedModel::default_compute();
}

bool OpenSession::is_made_with(const engine::Model& model) const
{
    if (text_only_) return text_only_->session.model == model.fingerprint();
    return session_ && session_->model().fingerprint() == model.fingerprint();
}

std::shared_ptr<const SessionFacts> OpenSession::facts()
{
    if (text_only_)
        return std::make_shared<const SessionFacts>(
            stored_facts(text_only_->session, database_.store(), shown(text_only_->why), provenances_, known_));
    if (!session_) return nullptr;
    SessionFacts facts = facts_of(*session_, store(), is_saved_, provenances_, known_);
    if (!is_saved_) facts.id = -unsaved_->number;
    return std::make_shared<const SessionFacts>(std::move(facts));
}

storage::StoredOptions OpenSession::options_for(const NewSession& request) const
{
    storage::StoredOptions options;
    options.choice.model = model_.request().model.toStdString();
    options.choice.device = model_.request().device.toStdString();
    options.choice.threads = model_.request().threads;
    options.choice.compute = model_.compute();
    options.choice.policy = request.policy.toStdString();
    options.choice.budget = request.budget.toStdString();
    options.choice.chunk = request.chunk;
    options.choice.snapshot = request.snapshot.toStdString();
    options.choice.system = request.system.toStdString();
    options.notes = wanted_.note_mode();
    options.talks = true;
    options.tells_catching_up = true;
    options.stays_empty = true;
    options.model = model_.model();
    return options;
}

storage::StoredOptions OpenSession::resume_options() const
{
    storage::StoredOptions options = options_for({});
    options.choice.model.clear(); // so that the session's own model is used
    options.recompute = true;     // computing the stream again may take long, but the user can stop it
    return options;
}

void OpenSession::begin(const QString& name, const NewSession& request)
{
    model_.use_for_new_session();
    if (!request.saved) {
        unsaved_ = std::make_unique<UnsavedStore>();
        unsaved_->number = ++last_unsaved_;
    }
    open_with_engine(name.toStdString(), options_for(request), request.saved);
}

void OpenSession::open(const storage::SessionInfo& session)
{
    const storage::ScopedValue opening(opening_, QString::fromStdString(session.name));
    try {
        model_.use_for(session);
    } catch (const Error& error) {
        if (error.kind() != ErrorKind::NotFound && error.kind() != ErrorKind::Failed) throw;
        text_only_ = TextOnlySession{session, why_text_only(session, error)};
        load_provenances(session.id);
        return;
    }
    open_with_engine(session.name, resume_options(), true);
}

void OpenSession::open_with_engine(const std::string& name, const storage::StoredOptions& options, bool saved)
{
    const storage::ScopedValue opening(opening_, QString::fromStdString(name));
    session_ = std::make_unique<storage::StoredSession>(store_for(saved), name, options, listener_);
    is_saved_ = saved;
    load_provenances(session_->id());
}

// A session opens without them, too.
void OpenSession::load_provenances(int64_t session)
try {
    provenances_.clear();
    const uint64_t tokens = tokens_of(store().conversations.stream(session));
    provenances_ = storage::Provenances(store().database).of(session, tokens);
} catch (const Error& error) {
    listener_.note(sentence_of(error));
}

DetachedSession OpenSession::detach()
{
    if (session_ && is_saved_ && !session_->store_turns()) throw Error(*session_->why_waiting());
    DetachedSession detached;
    detached.is_saved = is_saved_;
    if (is_any_open()) detached.id = session_ ? session_->id() : text_only_->session.id;
    session_.reset();
    detached.unsaved = std::move(unsaved_);
    detached.text_only = std::exchange(text_only_, std::nullopt);
    provenances_.clear();
    known_.forget();
    is_saved_ = true;
    return detached;
}

void OpenSession::reopen(DetachedSession previous)
{
    text_only_.reset(); // of the session that could not be opened
    unsaved_ = std::move(previous.unsaved);
    for (const storage::SessionInfo& info : store_for(previous.is_saved).conversations.list()) {
        if (info.id != previous.id || listener_.stop().stop_requested()) continue; // stopped again: reopens nothing
        // Marks the session as being opened, so that no short command renames or removes it meanwhile.
        const storage::ScopedValue opening(opening_, QString::fromStdString(info.name));
        if (previous.text_only) {
            text_only_ = TextOnlySession{info, previous.text_only->why};
            load_provenances(info.id);
        } else {
            model_.use_for(info);
            open_with_engine(info.name, resume_options(), previous.is_saved);
        }
        return; // ids are unique
    }
}

void OpenSession::discard()
{
    const int64_t id = session_->id();
    session_.reset();
    try {
        store().conversations.discard(id);
    } catch (const Error&) {
        // Ignored: the original error is reported, and an empty session is harmless.
    }
    known_.forget();
    is_saved_ = true;
}

void OpenSession::close()
{
    session_.reset();
    text_only_.reset();
    provenances_.clear();
    known_.forget();
}

void OpenSession::rename(const std::string& name)
{
    if (session_) return session_->rename(name);
    storage::Conversations& conversations = database_.store().conversations;
    conversations.rename(conversations.get(text_only_->session.name).id, name);
    text_only_->session.name = name;
}

void OpenSession::set_provenance(int64_t answer, Provenance provenance)
{
    const Provenance& known = provenances_[answer] = std::move(provenance);
    storage::Provenances(store().database).put(answer, known);
}

} // namespace palimpsest::ui
