// Changes to a stored session beside reading and talking: another policy, another name, another system prompt,
// documents of another session.
#include "kernels/base/error.h"
#include "storage/session/reading_meter.h"
#include "storage/session/session_settings.h"
#include "storage/session/stored_session.h"

namespace palimpsest::storage {

void StoredSession::change_policy(const SessionChoice& choice)
{
    with_fallback([&] {
        engine::SessionOptions wanted = choice.session(model_->config());
        wanted.pins = session_->pins();
        wanted.sampler = session_->options().sampler;
        wanted.probe_room = static_cast<int32_t>(question_rows_.size());
        auto changed = engine::Session::adopt(model_, session_->state(), wanted);
        save_as(*changed,
                SessionSettings::json(*changed, {choice.policy_spec(), question_, framing_, options_.talks}));
        session_ = std::move(changed);
    });
    watch_fading();
}

// States of the policy before cannot be gone back to under this one.
void StoredSession::save_as(engine::Session& changed, const std::string& settings)
{
    if (!store_turns()) throw *not_stored_;
    const engine::SessionState state = changed.state();
    const std::vector<SnapshotInfo> before = store_.snapshots.of(info_.id);
    store_.snapshots.save(info_.id, state, [&] {
        store_.conversations.append_fading(info_.id, faded_, state.tokens_seen);
        store_.conversations.set_options(info_.id, settings);
        for (const SnapshotInfo& snapshot : before)
            store_.snapshots.remove(snapshot.id);
    });
    info_.options = settings;
}

void StoredSession::set_system(const std::string& system)
{
    if (!is_new())
        throw Error(ErrorKind::Usage, "PAL-SESSION-06", "session '" + printable(info_.name) + "'",
                    "its system prompt is part of what the model has read",
                    "begin another session with another one");
    engine::FramingOptions framing = framing_;
    framing.system = system;
    const std::string settings =
        SessionSettings::json(*session_, {begun_with().policy_spec(), question_, framing, options_.talks});
    std::swap(framing_, framing);
    try {
        make_template();
        store_.database.transaction([&] { store_.conversations.set_options(info_.id, settings); });
    } catch (...) {
        framing_ = framing;
        make_template();
        throw;
    }
    info_.options = settings;
}

void StoredSession::rename(const std::string& name)
{
    store_.conversations.rename(info_.id, name);
    info_.name = name;
}

// Their ids are those of the model that computes here: a document is never tokenised again.
void StoredSession::read_stored(const std::vector<int64_t>& documents)
{
    std::vector<DocumentInfo> stored;
    for (const int64_t document : documents) {
        stored.push_back(store_.library.get(document));
        if (stored.back().tokenizer != model_->fingerprint())
            throw Error(ErrorKind::Usage, "PAL-DOC-07", "document '" + printable(stored.back().title) + "'",
                        "its tokens are those of another model", "open its file and read it with this one");
    }
    take_in([&] { read_stored_here(stored); });
}

// All are in the stream before the first is read: none can be removed meanwhile, or left out where that is stopped.
void StoredSession::read_stored_here(const std::vector<DocumentInfo>& documents)
{
    finish_going_back();
    std::vector<StreamPart> added;
    uint64_t tokens = 0;
    for (const DocumentInfo& stored : documents) {
        added.push_back(framing_of(stored.title));
        tokens += added.back().tokens + stored.tokens;
        added.push_back({.tokens = stored.tokens, .document = stored.id});
    }
    session_->require_room(static_cast<int64_t>(tokens));
    store_.database.transaction([&] {
        for (const StreamPart& part : added)
            store_.conversations.append(info_.id, part);
    });
    parts_.insert(parts_.end(), added.begin(), added.end());
    for (size_t i = 0; i < documents.size(); ++i) {
        feed(added[2 * i].ids, nullptr);
        ReadingMeter progress(listener_, documents[i].title);
        progress.start_at(position(), position());
        feed_document(documents[i].id, 0, documents[i].tokens, &progress);
        save();
    }
}

void StoredSession::choose_sampling(const engine::SamplerOptions& sampling)
{
    if (sampling == session_->options().sampler) return;
    session_->set_sampler(sampling);
    sampling_is_stored_ = false;
}

void fork_session(Store& store, const std::string& name, const std::string& to)
{
    const int64_t from = store.conversations.get(name).id;
    const int64_t copy = store.conversations.fork(from, to);
    const auto states = store.snapshots.of(from);
    for (auto state = states.rbegin(); state != states.rend(); ++state)
        store.snapshots.share(state->id, copy);
}

} // namespace palimpsest::storage
