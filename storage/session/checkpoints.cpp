#include "storage/session/checkpoints.h"

#include <algorithm>
#include <optional>

#include "engine/session/arithmetic.h"
#include "kernels/base/byte_quantity.h"
#include "kernels/base/error.h"
#include "kernels/base/printable.h"
#include "storage/session/list_lengths.h"
#include "storage/session/session_settings.h"

namespace palimpsest::storage {
namespace {

bool concerns_snapshot(const Error& error)
{
    return is_about_snapshot(error.code()) || error.code() == ErrorCode::DamagedPolicyState;
}

double seconds_since(std::chrono::steady_clock::time_point then)
{
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - then).count();
}

} // namespace

std::unique_ptr<engine::Session> Checkpoints::fresh() const
{
    engine::SessionOptions options = context_.begun_with().session(context_.model->config());
    options.question_room = static_cast<int32_t>(framing_.question_ids().size());
    return std::make_unique<engine::Session>(context_.model, options);
}

// Returns how large the payload of a valid checkpoint may be, in bytes. Throws Error if the checkpoint was not made
// with the session's settings.
uint64_t Checkpoints::largest_payload(const engine::SessionState& state) const
{
    const SessionSettings begun(context_.info);
    const auto& question_ids = framing_.question_ids();
    if (state.budget != begun.budget || state.chunk != begun.chunk || name_of(state.positions) != begun.positions ||
        kv_type_name(state.kv_type) != begun.kv_type || state.given.text() != begun.policy_given ||
        state.question_room != static_cast<int32_t>(question_ids.size()) ||
        (!state.question_ids.empty() && state.question_ids != question_ids))
        throw Error(ErrorKind::Failed, ErrorCode::IncompatibleSnapshot, Text("saved session"),
                    Text("it has other settings than the session"), Text("read its text again"));
    return engine::Session::largest_lists(*context_.model, state);
}

engine::SessionState Checkpoints::load(const SnapshotInfo& snapshot) const
{
    return context_.store.snapshots.load(snapshot.id,
                                         [&](const engine::SessionState& s) { return largest_payload(s); });
}

void Checkpoints::refuse_without_reading(const Error& first) const
{
    const uint64_t planned = context_.stream.tokens();
    const std::string count = format_count(planned);
    const auto time = rate_.time_to_read(planned);
    const Text reading =
        time ? Text("its text is safe; choose {0} to read its {1} tokens again, about {2}", Setting::Recompute,
                    count, *time)
             : Text("its text is safe; choose {0} to read its {1} tokens again", Setting::Recompute, count);
    // The remedy of a damaged checkpoint is the same; those of other errors are alternatives.
    const bool is_only_way = first.code() == ErrorCode::DamagedSnapshot;
    throw Error(ErrorKind::Failed, first.code(), context_.subject(), first.text(),
                is_only_way ? reading : Text("{0}; {1}", first.remedy(), reading));
}

bool Checkpoints::restore_newest()
{
    Store& store = context_.store;
    const bool read_only = context_.options.read_only;
    const uint64_t planned = context_.stream.tokens();
    std::optional<Error> first;
    std::vector<int64_t> damaged;
    for (const SnapshotInfo& snapshot : store.snapshots.of(context_.info.id)) {
        try {
            const engine::SessionState state = load(snapshot);
            if (state.tokens_seen + state.pending.size() > planned) { // it contains a turn that was undone
                if (!read_only) store.snapshots.remove(snapshot.id);
                continue;
            }
            context_.session = engine::Session::restore(context_.model, state);
            last_bytes_ = 2 * snapshot.bytes; // log and file
            if (first) context_.listener.note(Text("{0}; an older one is used", sentence_of(*first)));
            if (snapshot.form != SnapshotForm::Exact)
                context_.listener.note(Text("it goes on from a cache that was rounded to {0} when it was saved",
                                            std::string(name_of(snapshot.form))));
            if (const std::string here = name_of(engine::arithmetic_of(*context_.model)); state.arithmetic != here)
                context_.listener.note(Text("it goes on with {0} from a cache that was computed with {1}: answers "
                                            "may differ from those there",
                                            here, printable(state.arithmetic)));
            // Snapshots keeps only two checkpoints: a damaged one would displace an intact one.
            for (const int64_t id : damaged)
                if (!read_only) store.snapshots.remove(id);
            if (!read_only)
                store.conversations.drop_fade_record_after(context_.info.id, context_.session->tokens_seen());
            return true;
        } catch (const Error& error) {
            if (!concerns_snapshot(error)) throw;
            if (error.code() == ErrorCode::DamagedSnapshot) damaged.push_back(snapshot.id);
            if (!first) first = error;
        }
    }
    if (first && !context_.options.recompute) refuse_without_reading(*first);
    if (read_only) return false;
    for (const int64_t id : damaged) // other refused checkpoints may be usable on the device that made them
        store.snapshots.remove(id);
    store.conversations.drop_fade_record_after(context_.info.id, 0);
    return false;
}

void Checkpoints::restore_before(uint64_t tokens)
{
    context_.session.reset(); // so that only one session is in memory at a time
    for (const SnapshotInfo& snapshot : context_.store.snapshots.of(context_.info.id)) {
        if (snapshot.tokens_seen > tokens) continue;
        try {
            const engine::SessionState state = load(snapshot);
            if (state.tokens_seen + state.pending.size() > tokens) continue;
            context_.session = engine::Session::restore(context_.model, state);
            return;
        } catch (const Error& error) {
            if (!concerns_snapshot(error)) throw;
        }
    }
    context_.session = fresh();
}

void Checkpoints::tell_if_exact() const
{
    if (context_.options.read_only) return;
    const auto why =
        why_exact(context_.snapshot_form, *context_.session->options().kv_type, context_.model->config().head_dim);
    if (why) context_.listener.note(*why);
}

void Checkpoints::start_counting()
{
    counted_from_ = context_.position();
    written_before_ = context_.store.database.bytes_written();
}

engine::SessionState Checkpoints::state_of(engine::Session& session) const
{
    const engine::ModelConfig& model = context_.model->config();
    return session.state(rounding_of(context_.snapshot_form, *session.options().kv_type, model.head_dim));
}

void Checkpoints::save()
{
    if (context_.options.read_only || !context_.options.keeps_states) return;
    journal_.require_stored();
    Store& store = context_.store;
    const engine::SessionState state = state_of(*context_.session);
    const uint64_t before = store.database.bytes_written();
    const auto with_it = [&] {
        store.conversations.append_fade_record(context_.info.id, faded_, state.tokens_seen);
        store.conversations.touch(context_.info.id);
        rate_.store();
    };
    store.snapshots.save(context_.info.id, state, with_it, context_.snapshot_form);
    faded_.clear();
    sampling_is_saved_ = true;
    last_bytes_ = store.database.bytes_written() - before;
    saved_at_ = Clock::now();
    context_.listener.saved(state.tokens_seen, store.database.bytes_written());
}

void Checkpoints::save_if_there_is_room()
try {
    save();
} catch (const Error& error) {
    if (error.code() != ErrorCode::DiskFull) throw;
    saved_at_ = Clock::now(); // wait before the next attempt
    context_.listener.note(
        Text("the state at {0} tokens is not saved: {1}", format_count(context_.position()), error.text()));
    try {
        context_.store.snapshots.sweep(); // removes the blocks that were written
    } catch (const Error&) {
        // The next start sweeps them.
    }
}

bool Checkpoints::is_due_at_chapter() const
{
    return seconds_since(saved_at_) >= context_.options.checkpoint_seconds / 4;
}

// Returns the size of the last checkpoint, written to log and file. Before the first, estimates it from the slots
// in use: each has a token, sum, count, key and value.
uint64_t Checkpoints::expected_bytes() const
{
    if (last_bytes_ > 0) return last_bytes_;
    const engine::Session& session = *context_.session;
    const auto slot = static_cast<uint64_t>(
        2 * kernels::row_bytes(*session.options().kv_type, context_.model->config().head_dim) + 2 * 8 + 4);
    return 2 * slot * static_cast<uint64_t>(session.telemetry().slots_used);
}

void Checkpoints::save_if_due(bool at_chapter)
{
    const double seconds = seconds_since(saved_at_);
    if (seconds < context_.options.checkpoint_seconds && !(at_chapter && is_due_at_chapter())) return;
    const uint64_t allowed = 100 * (context_.position() - counted_from_);
    const uint64_t written = context_.store.database.bytes_written() - written_before_;
    if (seconds < 600 && written + 2 * expected_bytes() > allowed) return;
    save_if_there_is_room();
}

void Checkpoints::replace_all(engine::Session& changed, const std::string& settings)
{
    journal_.require_stored();
    Store& store = context_.store;
    const int64_t session = context_.info.id;
    const engine::SessionState state = state_of(changed);
    const std::vector<SnapshotInfo> before = store.snapshots.of(session);
    const auto with_it = [&] {
        store.conversations.append_fade_record(session, faded_, state.tokens_seen);
        store.conversations.set_options(session, settings);
        for (const SnapshotInfo& snapshot : before)
            store.snapshots.remove(snapshot.id);
    };
    store.snapshots.save(session, state, with_it, context_.snapshot_form);
    context_.info.options = settings;
}

uint64_t Checkpoints::remove_all()
{
    Database& database = context_.store.database;
    const uint64_t before = database.file_bytes();
    context_.store.snapshots.remove_all(context_.info.id);
    database.shrink();
    return before - std::min(before, database.file_bytes());
}

void Checkpoints::collect_evictions()
{
    faded_.clear();
    context_.session->set_eviction_sink([this](std::span<const engine::EvictionEvent> events) {
        faded_.insert(faded_.end(), events.begin(), events.end());
    });
}

void Checkpoints::read_fade_record(const engine::EvictionSink& sink)
{
    context_.store.conversations.each_fade_record_block(context_.info.id,
                                                        [&](std::span<const engine::EvictionEvent> events) {
                                                            sink(events);
                                                            return true;
                                                        });
    sink(faded_);
}

} // namespace palimpsest::storage
