#include "storage/salvage_check.h"

#include <algorithm>
#include <set>
#include <utility>

#include "kernels/base/error.h"
#include "storage/conversations.h"
#include "storage/hash.h"
#include "storage/impossible_pins.h"
#include "storage/library.h"
#include "storage/message_witnesses.h"
#include "storage/salvage_queries.h"
#include "storage/snapshots.h"

namespace palimpsest::storage {
namespace {

constexpr int64_t most_made_parts = 64; // an index beyond such a gap is altered itself

bool loads(Snapshots& snapshots, int64_t snapshot)
try {
    snapshots.verify(snapshot);
    return true;
} catch (const Error&) {
    return false;
}

} // namespace

std::vector<Loss> SalvageCheck::run(const std::function<void(double)>& checked)
{
    known_sessions_ = rows_.entries("sessions", "sqlite_autoindex_sessions_1", "name");
    known_blocks_ = rows_.entries("document_blocks", "sqlite_autoindex_document_blocks_1", "document");
    known_messages_ = rows_.entries("messages", "messages_of_session", "session");
    known_parts_ = rows_.entries("stream", "sqlite_autoindex_stream_1", "session");
    known_snapshots_ = rows_.entries("snapshots", "snapshots_of_session", "session");
    known_pins_ = rows_.entries("pins", "sqlite_autoindex_pins_1", "session");
    db_.transaction([&] {
        deleted_messages_ = settle_sessions(db_, known_messages_);
        return_sessions();
        make_lost_sessions();
        documents_.make_lost();
        documents_.remove_empty();
    });
    const std::vector<int64_t> documents = numbers_of(db_, "SELECT id FROM documents");
    const auto all = static_cast<double>(documents.size() + session_names_.size());
    for (size_t done = 0; const int64_t document : documents) {
        checked(static_cast<double>(done++) / all);
        db_.transaction([&] { documents_.check(document); });
    }
    for (size_t done = documents.size(); const auto& [session, name] : session_names_) {
        checked(static_cast<double>(done++) / all);
        check_session(session);
    }
    checked(1);
    db_.transaction([&] {
        remove_orphans();
        documents_.keep_unused();
    });
    check_rest();
    check_details();
    return std::move(losses_);
}

// A session whose rowid was altered is known by its name in the index.
void SalvageCheck::return_sessions()
{
    for (const auto& [name, id] : known_sessions_) {
        auto find = db_.statement("SELECT id FROM sessions WHERE name = ? AND id <> ?");
        find.bind(1, name);
        find.bind(2, id);
        if (!find.executeStep() || has_content(find.getColumn(0).getInt64())) continue;
        auto change = db_.statement("UPDATE OR IGNORE sessions SET id = ? WHERE id = ?");
        change.bind(1, id);
        change.bind(2, find.getColumn(0).getInt64());
        change.exec();
    }
}

bool SalvageCheck::has_content(int64_t session)
{
    return number_of(
               db_,
               "SELECT EXISTS(SELECT 1 FROM stream WHERE session = ?1) OR EXISTS(SELECT 1 FROM messages WHERE "
               "session = ?1)",
               session) != 0;
}

// A session whose row is gone is known by its name in the index, or by what was fed to it. Its options stay
// unknown, so that it is not continued with others.
void SalvageCheck::make_lost_sessions()
{
    std::map<int64_t, std::string> lost;
    for (const int64_t id : numbers_of(db_, "SELECT session FROM stream GROUP BY session HAVING count(*) > 1"))
        lost[id] = missing_name("session", id);
    for (const auto& [name, id] : known_sessions_)
        lost[id] = name;
    const auto make = [&](int64_t id, const std::string& name) {
        auto insert =
            db_.statement("INSERT OR IGNORE INTO sessions(id, name, model, model_name, options, created_ms, "
                          "changed_ms) VALUES(?, ?, '', '', '', 0, 0)");
        insert.bind(1, id);
        insert.bind(2, name);
        if (insert.exec() == 0) return false;
        losses_.push_back({.session = name, .part = LostPart::SessionSettings});
        return true;
    };
    for (const auto& [id, name] : lost)
        if (number_of(db_, "SELECT count(*) FROM sessions WHERE id = ?", id) == 0 && !make(id, name) &&
            has_content(id))
            make(id, missing_name("session", id)); // another session has the name
    for (const SessionInfo& info : Conversations(db_).list())
        session_names_[info.id] = info.name;
}

void SalvageCheck::check_session(int64_t session)
{
    bool is_whole = false;
    db_.transaction([&] {
        check_messages(session);
        is_whole = check_stream(session);
        check_fade_record(session);
        check_pins(session, is_whole);
    });
    check_snapshots(session, is_whole);
    std::set<int64_t> told;
    for (const StreamPart& part : Conversations(db_).stream(session))
        if (const StreamDocument* document = document_in(part))
            if (const auto lost = documents_.losses().find(document->id);
                lost != documents_.losses().end() && told.insert(document->id).second)
                lose(lost->second, session, Library(db_).get(document->id).title);
    for (const int64_t document : told)
        told_documents_.insert(document);
}

// Leaves the place of a message, and nothing that could be taken for its text.
void SalvageCheck::empty_message(int64_t message)
{
    const int64_t bytes = number_of(db_, "SELECT length(ids) FROM messages WHERE id = ?", message);
    const std::vector<std::byte> ids(static_cast<size_t>(std::max<int64_t>(4, bytes - bytes % 4)));
    auto empty = db_.statement("UPDATE messages SET text = '', ids = ?, hash = ? WHERE id = ?");
    empty.bind(1, ids.data(), static_cast<int>(ids.size()));
    empty.bind(2, hash64(ids) + 1);
    empty.bind(3, message);
    empty.exec();
    emptied_.insert(message);
}

void SalvageCheck::check_messages(int64_t session)
{
    run_for(db_,
            "UPDATE messages SET parent = NULL WHERE session = ?1 AND parent NOT NULL AND parent NOT IN "
            "(SELECT id FROM messages WHERE session = ?1)",
            session);
    run_for(db_,
            "DELETE FROM read_again WHERE message IN (SELECT id FROM messages WHERE session = ?) AND "
            "document NOT IN (SELECT id FROM documents)",
            session);
    emptied_.clear();
    placeholders_.clear();
    const std::vector<Message> messages = Conversations(db_).messages(session);
    const auto roles = impossible_roles(db_, session, messages);
    uint64_t whole = 0;
    for (const Message& message : messages) {
        check_stop_();
        const bool is_possible = (message.role == Role::User || message.role == Role::Assistant) &&
                                 message.state >= MessageState::Growing && message.state <= MessageState::Cut;
        const auto role = roles.find(message.id);
        if (!message.damaged && is_possible && role == roles.end()) {
            ++whole;
            continue;
        }
        if (is_placeholder(message)) { // that rescue has told what is lost
            placeholders_.insert(message.id);
            ++whole;
        }
        run_for(db_, "UPDATE messages SET role = role <> 0, state = min(max(state, 0), 3) WHERE id = ?",
                message.id);
        if (role != roles.end())
            run_for(db_,
                    "UPDATE messages SET role = " + std::to_string(static_cast<int>(role->second)) +
                        " WHERE id = ?",
                    message.id);
        empty_message(message.id);
    }
    const uint64_t known = static_cast<uint64_t>(count_of(known_messages_, session));
    lost_messages_ = std::max(known, messages.size() + deleted_messages_[session]) - whole;
}

// A message that is fed and not there, or not where it belongs, gets an empty one in its place.
void SalvageCheck::make_message(int64_t session, int64_t index)
{
    auto role = db_.statement("SELECT messages.role = 0 FROM stream JOIN messages ON messages.id = stream.message "
                              "WHERE stream.session = ? AND stream.idx < ? ORDER BY stream.idx DESC LIMIT 1");
    role.bind(1, session);
    role.bind(2, index);
    Message message{.role = role.executeStep() && role.getColumn(0).getInt() ? Role::Assistant : Role::User,
                    .text = {},
                    .ids = {0}};
    const int64_t made = Conversations(db_).add_message(session, message);
    auto named = db_.statement("SELECT message FROM stream WHERE session = ? AND idx = ? AND message NOT IN "
                               "(SELECT id FROM messages)");
    named.bind(1, session);
    named.bind(2, index);
    message.id = named.executeStep() ? named.getColumn(0).getInt64() : made;
    auto rename = db_.statement("UPDATE messages SET id = ? WHERE id = ?"); // messages are shown by their ids
    rename.bind(1, message.id);
    rename.bind(2, made);
    rename.exec();
    empty_message(message.id);
    auto put = db_.statement("INSERT OR REPLACE INTO stream(session, idx, tokens, document, message, ids) "
                             "VALUES(?, ?, 0, NULL, ?, x'')");
    put.bind(1, session);
    put.bind(2, index);
    put.bind(3, message.id);
    put.exec();
}

bool SalvageCheck::check_stream(int64_t session)
{
    struct Row {
        int64_t index;
        bool holds;
    };
    std::vector<Row> rows;
    int64_t last_message = 0;
    uint64_t lost_messages = 0;
    bool is_whole = true, is_told = true; // is_told: what is missing was already before an earlier rescue
    run_for(db_, "DELETE FROM stream WHERE session = ? AND NOT idx BETWEEN 0 AND " + most_salvaged_index, session);
    {
        auto query = db_.statement(
            "SELECT idx, tokens, document, message, length(ids), (SELECT tokens FROM documents WHERE id = "
            "document), "
            "(SELECT session FROM messages WHERE messages.id = message) FROM stream WHERE session = ? ORDER BY "
            "idx");
        query.bind(1, session);
        while (query.executeStep()) {
            const int64_t tokens = query.getColumn(1).getInt64();
            const bool has_document = !query.getColumn(2).isNull(), has_message = !query.getColumn(3).isNull();
            bool holds = tokens >= 0 && !(has_document && has_message);
            if (has_document) holds &= query.getColumn(4).getInt64() == 0;
            if (has_document && tokens > query.getColumn(5).getInt64()) holds = false;
            if (!has_document && !has_message)
                holds &= query.getColumn(4).getInt64() % 4 == 0 && query.getColumn(4).getInt64() / 4 == tokens;
            if (has_message) {
                const int64_t message = query.getColumn(3).getInt64();
                // An earlier rescue made placeholders with ids above those of the messages behind them.
                const bool was_made = placeholders_.contains(message);
                const bool is_there =
                    query.getColumn(6).getInt64() == session && (was_made || message > last_message);
                if (!is_there) ++lost_messages;
                holds &= is_there;
                if (!was_made) last_message = std::max(last_message, message);
                is_whole &= !emptied_.contains(message);
                is_told &= !emptied_.contains(message) || was_made;
            }
            rows.push_back({query.getColumn(0).getInt64(), holds});
        }
    }
    int64_t next = 0;
    for (const Row& row : rows) {
        for (int64_t gap = next; gap < std::min(row.index, next + most_made_parts); ++gap)
            make_message(session, gap);
        if (!row.holds) make_message(session, row.index);
        is_told &= row.index == next && row.holds;
        next = row.index + 1;
    }
    const bool has_less = count_of(known_parts_, session) > static_cast<int64_t>(rows.size()) ||
                          (rows.empty() && rows_.has_losses("stream") && has_what_follows_a_stream(session)) ||
                          has_later_snapshot(session);
    if (has_less && is_told) {
        make_message(session, next);
        is_told = false;
    }
    lost_messages_ = std::max(lost_messages_, lost_messages);
    if (lost_messages_ > 0) lose(LostPart::Message, session, {}, lost_messages_);
    if (!is_told) lose(LostPart::Stream, session);
    return is_whole && is_told;
}

bool SalvageCheck::has_what_follows_a_stream(int64_t session)
{
    return number_of(
               db_,
               "SELECT EXISTS(SELECT 1 FROM messages WHERE session = ?1) OR EXISTS(SELECT 1 FROM snapshots WHERE "
               "session = ?1) OR EXISTS(SELECT 1 FROM pins WHERE session = ?1) OR EXISTS(SELECT 1 FROM fading "
               "WHERE session = ?1)",
               session) != 0;
}

// A saved state beyond the end of the stream: its last parts are gone.
bool SalvageCheck::has_later_snapshot(int64_t session)
{
    const uint64_t tokens = tokens_of(Conversations(db_).stream(session));
    Snapshots snapshots(db_);
    return std::ranges::any_of(snapshots.of(session), [&](const SnapshotInfo& snapshot) {
        return snapshot.tokens_seen > tokens && loads(snapshots, snapshot.id);
    });
}

// Saved states count tokens from the beginning of the stream, so they are of no use if a part of it is missing.
void SalvageCheck::check_snapshots(int64_t session, bool stream_is_whole)
{
    Snapshots snapshots(db_);
    const int64_t had = count_of(known_snapshots_, session);
    const auto all = snapshots.of(session);
    for (const SnapshotInfo& snapshot : all) {
        check_stop_();
        if (!stream_is_whole || !loads(snapshots, snapshot.id)) snapshots.remove(snapshot.id);
    }
    if (stream_is_whole)
        db_.transaction([&] { snapshots.remove_after(session, tokens_of(Conversations(db_).stream(session))); });
    if (stream_is_whole && (had > 0 || !all.empty()) && snapshots.of(session).empty())
        lose(LostPart::Cache, session);
}

void SalvageCheck::check_fade_record(int64_t session)
{
    const bool has_gap =
        number_of(db_, "SELECT count(*) <> coalesce(max(idx) + 1, 0) FROM fading WHERE session = ?", session);
    bool can_be_read = !has_gap;
    if (can_be_read) try {
            Conversations(db_).each_fade_record_block(session, [](const auto&) { return true; });
        } catch (const Error&) {
            can_be_read = false;
        }
    if (can_be_read) return;
    run_for(db_, "DELETE FROM fading WHERE session = ?", session);
    lose(LostPart::FadeRecord, session);
}

// Where a part of the stream is lost, a pin behind what is left would be one of other tokens later.
void SalvageCheck::check_pins(int64_t session, bool stream_is_whole)
{
    const int64_t known = std::max(count_of(known_pins_, session),
                                   number_of(db_, "SELECT count(*) FROM pins WHERE session = ?", session));
    run_for(db_, "DELETE FROM pins WHERE rowid IN (" + std::string(impossible_pins) + ")", session);
    if (!stream_is_whole)
        run_for(db_,
                "DELETE FROM pins WHERE session = ?1 AND last > (SELECT coalesce(sum(tokens), 0) FROM stream WHERE "
                "session = ?1)",
                session);
    const int64_t left = number_of(db_, "SELECT count(*) FROM pins WHERE session = ?", session);
    if (left < known) lose(LostPart::Pin, session, {}, static_cast<uint64_t>(known - left));
}

void SalvageCheck::check_rest()
{
    const auto is_of_none = [&](const RowSalvage::IndexEntry& entry) {
        return std::none_of(session_names_.begin(), session_names_.end(),
                            [&](const auto& session) { return std::to_string(session.first) == entry.value; });
    };
    const auto unowned = std::count_if(known_messages_.begin(), known_messages_.end(), is_of_none);
    if (unowned > 0)
        losses_.push_back(
            {.session = {}, .part = LostPart::Message, .name = {}, .count = static_cast<uint64_t>(unowned)});
    for (const auto& [key, row] : rows_.entries("settings", "sqlite_autoindex_settings_1", "key"))
        if (number_of(db_, "SELECT count(*) FROM settings WHERE rowid = ?", row) == 0)
            losses_.push_back({.session = {}, .part = LostPart::Setting, .name = key});
    for (const auto& [document, part] : documents_.losses())
        if (!told_documents_.contains(document) &&
            number_of(db_, "SELECT count(*) FROM library WHERE document = ?", document) > 0)
            losses_.push_back({.session = {}, .part = part, .name = Library(db_).get(document).title});
}

void SalvageCheck::remove_orphans()
{
    using Orphan = std::pair<std::string, int64_t>; // table and rowid
    const auto find = [&] {
        std::set<Orphan> all;
        auto query = db_.statement("PRAGMA foreign_key_check");
        while (query.executeStep())
            all.emplace(query.getColumn(0).getString(), query.getColumn(1).getInt64());
        return all;
    };
    for (auto orphans = find(); !orphans.empty(); orphans = find())
        for (const auto& [table, row] : orphans) {
            check_stop_();
            run_for(db_, "DELETE FROM " + table + " WHERE rowid = ?", row);
            tables_with_orphans_.insert(table);
        }
    db_.remove_unreferenced_blocks();
}

// Tables of which no session or document tells how many rows they had; of others, if nothing was told.
void SalvageCheck::check_details()
{
    const std::map<std::string, LostPart> told_by_part{{"settings", LostPart::Setting},
                                                       {"sessions", LostPart::SessionSettings},
                                                       {"messages", LostPart::Message},
                                                       {"documents", LostPart::DocumentEntry}};
    const auto is_told = [&](const std::string& table) {
        const auto part = told_by_part.find(table);
        return part != told_by_part.end() &&
               std::ranges::any_of(losses_, [&](const Loss& loss) { return loss.part == part->second; });
    };
    for (const std::string& table : tables_of_details())
        if ((rows_.has_losses(table) || tables_with_orphans_.contains(table)) && !is_told(table))
            losses_.push_back({.session = {}, .part = LostPart::Details, .name = table});
}

void SalvageCheck::lose(LostPart part, int64_t session, const std::string& name, uint64_t count)
{
    losses_.push_back({.session = session_names_[session], .part = part, .name = name, .count = count});
}

} // namespace palimpsest::storage
