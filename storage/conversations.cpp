#include "storage/conversations.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <nlohmann/json.hpp>
#include <utility>

#include "engine/policy/named/nearest.h"
#include "kernels/base/error.h"
#include "kernels/base/printable.h"
#include "storage/clock.h"
#include "storage/erasure.h"
#include "storage/hash.h"
#include "storage/library.h"
#include "storage/packing.h"
#include "storage/provenance.h"

namespace palimpsest::storage {
namespace {

constexpr int64_t max_event_block_bytes = 1 << 20;

SessionInfo session_info(SQLite::Statement& row)
{
    return {.id = row.getColumn(0).getInt64(),
            .name = row.getColumn(1).getString(),
            .model = row.getColumn(2).getString(),
            .model_name = row.getColumn(3).getString(),
            .options = row.getColumn(4).getString(),
            .created_ms = row.getColumn(5).getInt64(),
            .changed_ms = row.getColumn(6).getInt64()};
}

std::span<const std::byte> bytes_of(const std::vector<engine::TokenId>& ids)
{
    return std::as_bytes(std::span(ids));
}

template<class T>
std::vector<T> values_of(const SQLite::Column& column)
{
    std::vector<T> values(static_cast<size_t>(column.getBytes()) / sizeof(T));
    if (!values.empty()) std::memcpy(values.data(), column.getBlob(), values.size() * sizeof(T));
    return values;
}

int64_t hash_of(const Message& message)
{
    std::vector<std::byte> all(message.text.size() + message.ids.size() * sizeof(engine::TokenId));
    if (!message.text.empty()) std::memcpy(all.data(), message.text.data(), message.text.size());
    if (!message.ids.empty())
        std::memcpy(all.data() + message.text.size(), message.ids.data(), bytes_of(message.ids).size());
    return hash64(all);
}

void bind_blob(SQLite::Statement& statement, int index, std::span<const std::byte> bytes)
{
    // A null pointer would bind NULL, not an empty value.
    statement.bindNoCopy(index, bytes.empty() ? "" : static_cast<const void*>(bytes.data()),
                         static_cast<int>(bytes.size()));
}

void bind_optional(SQLite::Statement& statement, int index, const std::optional<int64_t>& value)
{
    value ? statement.bind(index, *value) : statement.bind(index);
}

std::optional<int64_t> optional_of(const SQLite::Column& column)
{
    return column.isNull() ? std::nullopt : std::optional(column.getInt64());
}

// REQUIRES: the row has the columns tokens, document, message, ids.
StreamPart part_of(SQLite::Statement& row)
{
    const auto tokens = static_cast<uint64_t>(row.getColumn(0).getInt64());
    if (const auto document = optional_of(row.getColumn(1)))
        return StreamDocument{.id = *document, .tokens = tokens};
    if (const auto message = optional_of(row.getColumn(2))) return StreamMessage{.id = message, .tokens = tokens};
    return StreamFraming{.ids = values_of<engine::TokenId>(row.getColumn(3)), .tokens = tokens};
}

// Whether a passage lies within a message of so many tokens.
bool fits(const ReadAgain& passage, uint64_t tokens)
{
    return passage.first_token <= passage.end_token && passage.at <= tokens &&
           passage.tokens() <= tokens - passage.at;
}

constexpr const char* message_of_session =
    "SELECT id, parent, role, state, text, ids, hash, created_ms FROM messages "
    "WHERE session = ? ORDER BY id";
constexpr const char* message_by_id = "SELECT id, parent, role, state, text, ids, hash, created_ms FROM messages "
                                      "WHERE id = ?";

Message message_of(SQLite::Statement& row)
{
    Message message{.id = row.getColumn(0).getInt64(),
                    .parent = optional_of(row.getColumn(1)),
                    .role = static_cast<Role>(row.getColumn(2).getInt()),
                    .state = static_cast<MessageState>(row.getColumn(3).getInt()),
                    .text = row.getColumn(4).getString(),
                    .ids = values_of<engine::TokenId>(row.getColumn(5)),
                    .created_ms = row.getColumn(7).getInt64()};
    message.damaged = hash_of(message) != row.getColumn(6).getInt64();
    return message;
}

} // namespace

void Conversations::check_name(const std::string& name)
{
    const auto refuse = [&](const Text& what) {
        throw Error(ErrorKind::Usage, ErrorCode::InvalidSessionName, Text("session '{0}'", printable(name)), what,
                    Text("choose another name"));
    };
    if (name.empty()) refuse(Text("a name cannot be empty"));
    if (name.size() > max_name_bytes) refuse(Text("a name has at most {0} bytes", max_name_bytes));
    if (find(name)) refuse(Text("a session of this name exists already"));
}

int64_t Conversations::create(const SessionInfo& info)
{
    int64_t id = 0;
    db_.transaction([&] { id = insert(info); });
    return id;
}

int64_t Conversations::insert(const SessionInfo& info)
{
    return db_.guarded([&] {
        check_name(info.name);
        auto insert =
            db_.statement("INSERT INTO sessions(name, model, model_name, options, created_ms, changed_ms) "
                          "VALUES(?, ?, ?, ?, ?, ?)");
        insert.bind(1, info.name);
        insert.bind(2, info.model);
        insert.bind(3, info.model_name);
        insert.bind(4, info.options);
        insert.bind(5, now_ms());
        insert.bind(6, now_ms());
        insert.exec();
        return db_.last_row();
    });
}

std::optional<SessionInfo> Conversations::find(const std::string& name)
{
    return db_.guarded([&]() -> std::optional<SessionInfo> {
        auto query = db_.statement("SELECT id, name, model, model_name, options, created_ms, changed_ms "
                                   "FROM sessions WHERE name = ?");
        query.bind(1, name);
        if (!query.executeStep()) return std::nullopt;
        return session_info(query);
    });
}

SessionInfo Conversations::get(const std::string& name)
{
    if (auto found = find(name)) return *found;
    std::vector<std::string> names;
    for (const SessionInfo& info : list())
        names.push_back(info.name);
    const std::string near = engine::nearest(name, names);
    throw Error(ErrorKind::NotFound, ErrorCode::SessionNotFound, Text("session '{0}'", printable(name)),
                Text("there is no such session"),
                near.empty() ? Text(Step::ListSessions) : Text("did you mean '{0}'?", printable(near)));
}

std::vector<SessionInfo> Conversations::list()
{
    return db_.guarded([&] {
        std::vector<SessionInfo> all;
        auto query = db_.statement("SELECT id, name, model, model_name, options, created_ms, changed_ms "
                                   "FROM sessions ORDER BY changed_ms DESC, id DESC");
        while (query.executeStep())
            all.push_back(session_info(query));
        return all;
    });
}

void Conversations::rename(int64_t session, const std::string& name)
{
    db_.transaction([&] {
        check_name(name);
        auto update = db_.statement("UPDATE sessions SET name = ? WHERE id = ?");
        update.bind(1, name);
        update.bind(2, session);
        update.exec();
    });
}

void Conversations::set_options(int64_t session, const std::string& options)
{
    auto update = db_.statement("UPDATE sessions SET options = ? WHERE id = ?");
    update.bind(1, options);
    update.bind(2, session);
    update.exec();
}

void Conversations::touch(int64_t session)
{
    db_.guarded([&] {
        auto update = db_.statement("UPDATE sessions SET changed_ms = ? WHERE id = ?");
        update.bind(1, now_ms());
        update.bind(2, session);
        update.exec();
    });
}

void Conversations::remove_rows(int64_t session)
{
    auto remove = db_.statement("DELETE FROM sessions WHERE id = ?");
    remove.bind(1, session);
    remove.exec();
    db_.remove_unreferenced_blocks();
    delete_documents(db_, std::string("complete = 1 AND ") + is_unused_document);
}

std::optional<Error> Conversations::remove(int64_t session)
{
    return erase(db_, [&] { remove_rows(session); });
}

void Conversations::take_back(const SessionInfo& session)
{
    db_.transaction([&] {
        auto unchanged = db_.statement("SELECT 1 FROM sessions WHERE id = ? AND changed_ms = ?");
        unchanged.bind(1, session.id);
        unchanged.bind(2, session.changed_ms);
        if (unchanged.executeStep()) remove_rows(session.id);
    });
}

bool Conversations::discard(int64_t session)
{
    bool gone = false;
    db_.in_transaction([&] {
        auto remove = db_.statement("DELETE FROM sessions WHERE id = ? "
                                    "AND id NOT IN (SELECT session FROM stream) "
                                    "AND id NOT IN (SELECT session FROM messages)");
        remove.bind(1, session);
        gone = remove.exec() > 0;
    });
    return gone;
}

int64_t Conversations::fork(int64_t session, const std::string& name, std::optional<int64_t> before)
{
    int64_t id = 0;
    db_.in_transaction([&] {
        check_name(name);
        auto copy = db_.statement("INSERT INTO sessions(name, model, model_name, options, created_ms, changed_ms) "
                                  "SELECT ?, model, model_name, options, ?, ? FROM sessions WHERE id = ?");
        copy.bind(1, name);
        copy.bind(2, now_ms());
        copy.bind(3, now_ms());
        copy.bind(4, session);
        copy.exec();
        id = db_.last_row();
        std::map<int64_t, int64_t> new_ids; // of messages: old id to new
        const auto new_id = [&](int64_t old) {
            const auto found = new_ids.find(old);
            if (found != new_ids.end()) return found->second;
            throw Error(ErrorKind::Failed, ErrorCode::DamagedDatabase, Text("message {0}", old),
                        Text("it is not in the session that names it"), Text("export what is left of the session"));
        };
        for (Message& message : messages(session)) {
            if (before && message.id >= *before) break;
            if (message.damaged)
                throw Error(ErrorKind::Failed, ErrorCode::DamagedDatabase, Text("message {0}", message.id),
                            Text("it does not match its checksum"), Text("a copy would pass it off as genuine"));
            if (message.parent) message.parent = new_id(*message.parent);
            const int64_t made = add_message(id, message);
            Provenances(db_).copy(message.id, made);
            new_ids[message.id] = made;
        }
        uint64_t tokens = 0;
        for (StreamPart& part : stream(session)) {
            StreamMessage* message = std::get_if<StreamMessage>(&part);
            if (before && message && message->id == before) break;
            tokens += tokens_of(part);
            if (message) message->id = new_id(*message->id);
            append(id, part);
        }
        auto rows = db_.statement("INSERT INTO fading(session, idx, tokens_seen, raw, hash, data) "
                                  "SELECT ?, idx, tokens_seen, raw, hash, data FROM fading WHERE session = ?");
        rows.bind(1, id);
        rows.bind(2, session);
        rows.exec();
        auto all = pins(session);
        if (before) {
            drop_fade_record_after(id, tokens);
            std::erase_if(all, [&](const Pin& pin) { return pin.first >= tokens; });
            for (Pin& pin : all) {
                pin.last = std::min(pin.last, tokens);
                pin.since = std::min(pin.since, tokens);
            }
        }
        set_pins(id, all);
        auto notes = db_.statement(
            "INSERT INTO notes(session, document, first_token, end_token, first_byte, end_byte, section, origin, "
            "repeats, text, refused, tokens, seconds, hash) SELECT ?1, document, first_token, end_token, "
            "first_byte, "
            "end_byte, section, origin, repeats, text, refused, tokens, seconds, hash FROM notes WHERE session = "
            "?2 "
            "AND document IN (SELECT document FROM stream WHERE session = ?1)");
        notes.bind(1, id);
        notes.bind(2, session);
        notes.exec();
    });
    return id;
}

void Conversations::append(int64_t session, const StreamPart& part)
{
    db_.guarded([&] {
        auto insert =
            db_.statement("INSERT INTO stream(session, idx, tokens, document, message, ids) "
                          "SELECT ?, coalesce(max(idx) + 1, 0), ?, ?, ?, ? FROM stream WHERE session = ?");
        insert.bind(1, session);
        const StreamFraming* framing = framing_in(part);
        const StreamDocument* document = document_in(part);
        const StreamMessage* message = message_in(part);
        insert.bind(2, static_cast<int64_t>(tokens_of(part)));
        bind_optional(insert, 3, document ? std::optional(document->id) : std::nullopt);
        bind_optional(insert, 4, message ? message->id : std::nullopt);
        bind_blob(insert, 5, framing ? bytes_of(framing->ids) : std::span<const std::byte>());
        insert.bind(6, session);
        insert.exec();
    });
}

std::vector<StreamPart> Conversations::stream(int64_t session)
{
    return db_.guarded([&] {
        std::vector<StreamPart> all;
        auto query = db_.statement("SELECT coalesce((SELECT length(messages.ids) / 4 FROM messages "
                                   "WHERE messages.id = message), tokens), document, message, ids FROM stream "
                                   "WHERE session = ? ORDER BY idx");
        query.bind(1, session);
        while (query.executeStep())
            all.push_back(part_of(query));
        return all;
    });
}

int64_t Conversations::add_message(int64_t session, const Message& message)
{
    return db_.guarded([&] {
        auto insert =
            db_.statement("INSERT INTO messages(session, parent, role, state, text, ids, hash, created_ms) "
                          "VALUES(?, ?, ?, ?, ?, ?, ?, ?)");
        insert.bind(1, session);
        bind_optional(insert, 2, message.parent);
        insert.bind(3, static_cast<int>(message.role));
        insert.bind(4, static_cast<int>(message.state));
        insert.bind(5, message.text);
        bind_blob(insert, 6, bytes_of(message.ids));
        insert.bind(7, hash_of(message));
        insert.bind(8, message.created_ms ? message.created_ms : now_ms());
        insert.exec();
        db_.count_written(message.text.size() + bytes_of(message.ids).size());
        const int64_t id = db_.last_row();
        add_read_again(id, message.read_again);
        return id;
    });
}

void Conversations::add_read_again(int64_t message, const std::vector<ReadAgain>& passages)
{
    for (const ReadAgain& passage : passages) {
        auto insert = db_.statement("INSERT INTO read_again(message, at, document, first_token, end_token, held) "
                                    "VALUES(?, ?, ?, ?, ?, ?)");
        insert.bind(1, message);
        insert.bind(2, static_cast<int64_t>(passage.at));
        insert.bind(3, passage.document);
        insert.bind(4, static_cast<int64_t>(passage.first_token));
        insert.bind(5, static_cast<int64_t>(passage.end_token));
        insert.bind(6, passage.held);
        insert.exec();
    }
}

// The passages that these messages read again, by message and place.
std::map<int64_t, std::vector<ReadAgain>> Conversations::read_again_by(const std::vector<int64_t>& messages)
{
    std::map<int64_t, std::vector<ReadAgain>> all;
    auto query = db_.statement("SELECT message, document, first_token, end_token, at, held FROM read_again "
                               "WHERE message IN (SELECT value FROM json_each(?)) ORDER BY message, at");
    query.bind(1, nlohmann::json(messages).dump());
    while (query.executeStep())
        all[query.getColumn(0).getInt64()].push_back(
            {.document = query.getColumn(1).getInt64(),
             .first_token = static_cast<uint64_t>(query.getColumn(2).getInt64()),
             .end_token = static_cast<uint64_t>(query.getColumn(3).getInt64()),
             .at = static_cast<uint64_t>(query.getColumn(4).getInt64()),
             .held = query.getColumn(5).getDouble()});
    return all;
}

std::vector<ReadAgain> Conversations::read_again(std::span<const StreamPart> stream)
{
    std::vector<int64_t> messages;
    for (const StreamPart& part : stream)
        if (const StreamMessage* message = message_in(part); message && message->id)
            messages.push_back(*message->id);
    return db_.guarded([&] {
        std::vector<ReadAgain> all;
        const auto by_message = read_again_by(messages);
        uint64_t begin = 0;
        for (const StreamPart& part : stream) {
            const StreamMessage* message = message_in(part);
            const auto known = message && message->id ? by_message.find(*message->id) : by_message.end();
            if (known != by_message.end())
                for (ReadAgain passage : known->second) {
                    if (!fits(passage, tokens_of(part))) continue;
                    passage.at += begin;
                    all.push_back(passage);
                }
            begin += tokens_of(part);
        }
        return all;
    });
}

void Conversations::update_message(const Message& message)
{
    db_.guarded([&] {
        auto update = db_.statement("UPDATE messages SET state = ?, text = ?, ids = ?, hash = ? WHERE id = ?");
        update.bind(1, static_cast<int>(message.state));
        update.bind(2, message.text);
        bind_blob(update, 3, bytes_of(message.ids));
        update.bind(4, hash_of(message));
        update.bind(5, message.id);
        update.exec();
        db_.count_written(message.text.size() + bytes_of(message.ids).size());
    });
}

void Conversations::stop_growing(int64_t session)
{
    db_.guarded([&] {
        auto update = db_.statement("UPDATE messages SET state = ? WHERE session = ? AND state = ?");
        update.bind(1, static_cast<int>(MessageState::Stopped));
        update.bind(2, session);
        update.bind(3, static_cast<int>(MessageState::Growing));
        update.exec();
    });
}

std::vector<Message> Conversations::messages(int64_t session)
{
    return db_.guarded([&] {
        std::vector<Message> all;
        auto query = db_.statement(message_of_session);
        query.bind(1, session);
        while (query.executeStep())
            all.push_back(message_of(query));
        load_read_again(all);
        return all;
    });
}

std::optional<Message> Conversations::message(int64_t id)
{
    return db_.guarded([&]() -> std::optional<Message> {
        auto query = db_.statement(message_by_id);
        query.bind(1, id);
        if (!query.executeStep()) return std::nullopt;
        std::vector<Message> found{message_of(query)};
        load_read_again(found);
        return found[0];
    });
}

// A passage that is not within the message's ids means that the record is damaged.
void Conversations::load_read_again(std::vector<Message>& messages)
{
    std::vector<int64_t> ids(messages.size());
    std::transform(messages.begin(), messages.end(), ids.begin(),
                   [](const Message& message) { return message.id; });
    auto by_message = read_again_by(ids);
    for (Message& message : messages) {
        message.read_again = std::move(by_message[message.id]);
        for (const ReadAgain& passage : message.read_again)
            if (!fits(passage, message.ids.size())) message.damaged = true;
    }
}

void Conversations::replace_in_stream(int64_t session, int64_t message, int64_t with)
{
    db_.guarded([&] {
        auto update = db_.statement("UPDATE stream SET message = ? WHERE session = ? AND message = ?");
        update.bind(1, with);
        update.bind(2, session);
        update.bind(3, message);
        update.exec();
    });
}

void Conversations::remove_messages_from(int64_t session, int64_t message)
{
    db_.guarded([&] {
        for (const char* sql : {"DELETE FROM stream WHERE session = ? AND idx >= "
                                "(SELECT min(idx) FROM stream WHERE message = ?)",
                                "DELETE FROM messages WHERE session = ? AND id >= ?"}) {
            auto remove = db_.statement(sql);
            remove.bind(1, session);
            remove.bind(2, message);
            remove.exec();
        }
    });
}

void Conversations::append_fade_record(int64_t session, std::span<const engine::EvictionEvent> events,
                                       uint64_t tokens_seen)
{
    static_assert(sizeof(engine::EvictionEvent) == 3 * sizeof(uint32_t));
    constexpr size_t per_row = static_cast<size_t>(max_event_block_bytes) / sizeof(engine::EvictionEvent);
    db_.guarded([&] {
        for (size_t at = 0; at < events.size(); at += per_row) {
            const auto raw = std::as_bytes(events.subspan(at, std::min(per_row, events.size() - at)));
            auto insert =
                db_.statement("INSERT INTO fading(session, idx, tokens_seen, hash, raw, data) "
                              "SELECT ?, coalesce(max(idx) + 1, 0), ?, ?, ?, ? FROM fading WHERE session = ?");
            const auto stored = pack(raw);
            insert.bind(1, session);
            insert.bind(2, static_cast<int64_t>(tokens_seen));
            insert.bind(3, hash64(raw));
            insert.bind(4, static_cast<int64_t>(raw.size()));
            bind_blob(insert, 5, stored);
            insert.bind(6, session);
            insert.exec();
            db_.count_written(stored.size());
        }
    });
}

void Conversations::drop_fade_record_after(int64_t session, uint64_t tokens_seen)
{
    db_.guarded([&] {
        auto remove = db_.statement("DELETE FROM fading WHERE session = ? AND tokens_seen > ?");
        remove.bind(1, session);
        remove.bind(2, static_cast<int64_t>(tokens_seen));
        remove.exec();
    });
}

std::vector<engine::EvictionEvent> Conversations::fade_record(int64_t session)
{
    std::vector<engine::EvictionEvent> all;
    each_fade_record_block(session, [&](std::span<const engine::EvictionEvent> events) {
        all.insert(all.end(), events.begin(), events.end());
        return true;
    });
    return all;
}

void Conversations::each_fade_record_block(int64_t session,
                                           const std::function<bool(std::span<const engine::EvictionEvent>)>& each)
{
    db_.guarded([&] {
        auto query = db_.statement("SELECT raw, hash, data FROM fading WHERE session = ? ORDER BY idx");
        query.bind(1, session);
        std::vector<engine::EvictionEvent> events;
        while (query.executeStep()) {
            const int64_t bytes = query.getColumn(0).getInt64();
            const auto stored = blob(query.getColumn(2));
            const bool fits =
                bytes >= 0 && bytes <= max_event_block_bytes && bytes % sizeof(engine::EvictionEvent) == 0;
            events.resize(fits ? static_cast<size_t>(bytes) / sizeof(engine::EvictionEvent) : 0);
            const auto raw = std::as_writable_bytes(std::span(events));
            if (!fits || !unpack(stored, raw) || hash64(raw) != query.getColumn(1).getInt64())
                throw Error(ErrorKind::Failed, ErrorCode::DamagedSnapshot, Text("fading record"),
                            Text("it is damaged"), Text("the text and the cache are not concerned"));
            if (!each(events)) return;
        }
    });
}

void Conversations::set_pins(int64_t session, std::span<const Pin> pins)
{
    db_.in_transaction([&] {
        auto forget = db_.statement("DELETE FROM pins WHERE session = ?");
        forget.bind(1, session);
        forget.exec();
        auto insert = db_.statement("INSERT INTO pins(session, first, last, since, label) VALUES(?, ?, ?, ?, ?)");
        for (const Pin& pin : pins) {
            insert.bind(1, session);
            insert.bind(2, static_cast<int64_t>(pin.first));
            insert.bind(3, static_cast<int64_t>(pin.last));
            insert.bind(4, static_cast<int64_t>(pin.since));
            insert.bind(5, pin.label);
            insert.exec();
            insert.reset();
        }
    });
}

std::vector<Pin> Conversations::pins(int64_t session)
{
    return db_.guarded([&] {
        std::vector<Pin> all;
        auto query = db_.statement("SELECT first, last, since, label FROM pins WHERE session = ? ORDER BY first");
        query.bind(1, session);
        while (query.executeStep())
            all.push_back({.first = static_cast<uint64_t>(query.getColumn(0).getInt64()),
                           .last = static_cast<uint64_t>(query.getColumn(1).getInt64()),
                           .since = static_cast<uint64_t>(query.getColumn(2).getInt64()),
                           .label = query.getColumn(3).getString()});
        return all;
    });
}

} // namespace palimpsest::storage
