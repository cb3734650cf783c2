#include "storage/salvage_check.h"

#include <algorithm>
#include <optional>
#include <set>
#include <span>
#include <utility>

#include "kernels/base/error.h"
#include "storage/clock.h"
#include "storage/conversations.h"
#include "storage/document_blocks.h"
#include "storage/hash.h"
#include "storage/library.h"
#include "storage/message_witnesses.h"
#include "storage/packing.h"
#include "storage/snapshots.h"

namespace palimpsest::storage {
namespace {

constexpr int64_t most_block_bytes = 1 << 20;
const std::string most_index = "2147483647";  // beyond it, an index is altered
constexpr int64_t most_made_blocks = 1 << 10; // an index beyond such a gap is altered itself
constexpr int64_t most_made_parts = 64;       // likewise, of a stream

// Returns nullopt if it is damaged. REQUIRES: columns raw, hash, data.
std::optional<std::vector<std::byte>> content_of(SQLite::Statement& block)
{
    const int64_t bytes = block.getColumn(0).getInt64();
    if (bytes < 0 || bytes > most_block_bytes) return std::nullopt;
    std::vector<std::byte> raw(static_cast<size_t>(bytes));
    const SQLite::Column data = block.getColumn(2);
    if (!unpack(blob(data), raw) || hash64(raw) != block.getColumn(1).getInt64()) return std::nullopt;
    return raw;
}

// What a block of lengths adds up to.
struct Extent {
    int64_t tokens = 0, bytes = 0;
};
Extent extent_of(std::span<const std::byte> lengths)
{
    Extent sum;
    uint64_t length = 0;
    int shift = 0;
    for (const std::byte byte : lengths) {
        const auto value = static_cast<uint64_t>(byte);
        if (shift < 63) length |= (value & 0x7F) << shift;
        shift += 7;
        if (value & 0x80) continue;
        ++sum.tokens;
        sum.bytes += static_cast<int64_t>(std::min<uint64_t>(length, most_block_bytes));
        length = 0;
        shift = 0;
    }
    return sum;
}

bool loads(Snapshots& snapshots, int64_t snapshot)
try {
    snapshots.verify(snapshot);
    return true;
} catch (const Error&) {
    return false;
}

bool is_size(int64_t number) // of a document
{
    return number >= 0 && number < int64_t{1} << 48;
}

int64_t count_of(const std::vector<RowSalvage::IndexEntry>& entries, int64_t value)
{
    return std::count_if(entries.begin(), entries.end(),
                         [text = std::to_string(value)](const auto& entry) { return entry.value == text; });
}

std::string missing_name(const char* what, int64_t id)
{
    return std::string(what) + "-" + std::to_string(id);
}

} // namespace

std::vector<Loss> SalvageCheck::run()
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
        make_lost_documents();
        remove_empty_documents();
    });
    for (const int64_t document : numbers("SELECT id FROM documents"))
        db_.transaction([&] { check_blocks(document); });
    for (const auto& [session, name] : session_names_)
        check_session(session);
    db_.transaction([&] {
        remove_orphans();
        keep_unused_documents();
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
    return number("SELECT EXISTS(SELECT 1 FROM stream WHERE session = ?1) OR EXISTS(SELECT 1 FROM messages WHERE "
                  "session = ?1)",
                  session) != 0;
}

// A session whose row is gone is known by its name in the index, or by what was fed to it. Its options stay
// unknown, so that it is not continued with others.
void SalvageCheck::make_lost_sessions()
{
    std::map<int64_t, std::string> lost;
    for (const int64_t id : numbers("SELECT session FROM stream GROUP BY session HAVING count(*) > 1"))
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
        if (number("SELECT count(*) FROM sessions WHERE id = ?", id) == 0 && !make(id, name) && has_content(id))
            make(id, missing_name("session", id)); // another session has the name
    for (const SessionInfo& info : Conversations(db_).list())
        session_names_[info.id] = info.name;
}

void SalvageCheck::make_lost_documents()
{
    const char* used = "SELECT document FROM stream WHERE document NOT NULL UNION SELECT document FROM library";
    for (const int64_t id : numbers(used)) {
        const std::string title = missing_name("document", id);
        auto insert = db_.statement(
            "INSERT OR IGNORE INTO documents(id, title, source, tokenizer, bytes, words, tokens, "
            "invalid_sequences, "
            "nul_characters, created_ms, complete) VALUES(?1, ?2, '-', coalesce((SELECT model FROM stream JOIN "
            "sessions "
            "ON sessions.id = session WHERE document = ?1), ''), "
            "(SELECT coalesce(sum(raw), 0) FROM document_blocks WHERE document = ?1 AND kind = 0), 0, "
            "(SELECT coalesce(sum(raw), 0) / 4 FROM document_blocks WHERE document = ?1 AND kind = 1), 0, 0, 0, "
            "1)");
        insert.bind(1, id);
        insert.bind(2, title);
        if (insert.exec() > 0) document_losses_[id] = LostPart::DocumentEntry;
        run("UPDATE documents SET complete = 1 WHERE id = ?", id);
    }
}

// An entry without text that nothing uses was altered itself: its text belongs to another one.
void SalvageCheck::remove_empty_documents()
{
    const char* empty =
        "SELECT id FROM documents WHERE id NOT IN (SELECT document FROM document_blocks) AND id NOT "
        "IN (SELECT document FROM stream WHERE document NOT NULL) AND id NOT IN (SELECT document "
        "FROM library)";
    for (const int64_t id : numbers(empty))
        if (count_of(known_blocks_, id) == 0) run("DELETE FROM documents WHERE id = ?", id);
}

// What is stored of one kind of block.
struct SalvageCheck::Blocks {
    struct Block {
        int64_t index, row, raw; // row: its rowid
    };
    std::vector<Block> intact;         // by index
    std::vector<int64_t> missing;      // indices
    std::vector<int64_t> damaged_rows; // rowids
    int64_t end = 0, raw = 0;
    int64_t tokens = 0, token_bytes = 0; // of blocks of lengths: what they are about

    bool are_whole() const { return missing.empty() && damaged_rows.empty(); }
    int64_t count() const { return static_cast<int64_t>(intact.size() + damaged_rows.size()); }
    // All have the size of a full block, except the last one.
    bool are_full(int64_t full) const
    {
        return std::all_of(intact.begin(), intact.end(), [&](const Block& block) {
            return block.index + 1 == end ? block.raw > 0 && block.raw <= full : block.raw == full;
        });
    }
    // Gives up blocks that have another size than in a whole of so many bytes.
    void compare(int64_t bytes, int64_t full)
    {
        const int64_t blocks = bytes / full + (bytes % full > 0 ? 1 : 0);
        for (const Block& block : intact)
            if (block.index >= blocks || block.raw != std::min(full, bytes - block.index * full))
                damaged_rows.push_back(block.row);
        if (end < blocks) missing.push_back(end);
    }
    void give_up()
    {
        for (const Block& block : intact)
            damaged_rows.push_back(block.row);
        if (end == 0) missing.push_back(0);
    }
};

SalvageCheck::Blocks SalvageCheck::blocks_of(int64_t document, DocumentBlock kind)
{
    Blocks blocks;
    run("DELETE FROM document_blocks WHERE document = ? AND NOT idx BETWEEN 0 AND " + most_index, document);
    auto query =
        db_.statement("SELECT raw, hash, data, idx, rowid FROM document_blocks WHERE document = ? AND kind = ? "
                      "ORDER BY idx");
    query.bind(1, document);
    query.bind(2, static_cast<int>(kind));
    while (query.executeStep()) {
        check_stop_();
        const int64_t index = query.getColumn(3).getInt64(), row = query.getColumn(4).getInt64();
        for (int64_t gap = blocks.end; gap < std::min(index, blocks.end + most_made_blocks); ++gap)
            blocks.missing.push_back(gap);
        blocks.end = index + 1;
        const auto content = content_of(query);
        if (!content) {
            blocks.damaged_rows.push_back(row);
            continue;
        }
        blocks.intact.push_back({.index = index, .row = row, .raw = static_cast<int64_t>(content->size())});
        blocks.raw += blocks.intact.back().raw;
        if (kind != DocumentBlock::Lengths) continue;
        const Extent extent = extent_of(*content);
        blocks.tokens += extent.tokens;
        blocks.token_bytes += extent.bytes;
    }
    return blocks;
}

// An empty block with a checksum that no empty block has: whoever reads it finds it damaged.
void SalvageCheck::make_damaged_block(int64_t document, DocumentBlock kind, int64_t index)
{
    auto insert = db_.statement("INSERT OR REPLACE INTO document_blocks(document, kind, idx, raw, hash, data) "
                                "VALUES(?, ?, ?, 1, 0, x'')");
    insert.bind(1, document);
    insert.bind(2, static_cast<int>(kind));
    insert.bind(3, index);
    insert.exec();
}

// Blocks that fit each other correct the document's entry. Otherwise the entry says how large they are, so that a
// block of another document is not taken for one of this.
void SalvageCheck::check_blocks(int64_t document)
{
    constexpr int64_t full_text = text_block_bytes, full_ids = tokens_per_block * sizeof(engine::TokenId);
    Blocks text = blocks_of(document, DocumentBlock::CleanText), ids = blocks_of(document, DocumentBlock::TokenIds),
           lengths = blocks_of(document, DocumentBlock::Lengths),
           starts = blocks_of(document, DocumentBlock::Starts);
    const int64_t bytes = number("SELECT bytes FROM documents WHERE id = ?", document),
                  tokens = number("SELECT tokens FROM documents WHERE id = ?", document),
                  there = text.count() + ids.count() + lengths.count() + starts.count();
    const bool has_entry = !document_losses_.contains(document);
    const bool fit = count_of(known_blocks_, document) <= there && text.end > 0 && text.are_whole() &&
                     ids.are_whole() && lengths.are_whole() && text.are_full(full_text) && ids.are_full(full_ids) &&
                     ids.end == lengths.end && lengths.tokens == ids.raw / 4 && lengths.token_bytes == text.raw;
    if (fit) {
        auto correct = db_.statement("UPDATE documents SET bytes = ?, tokens = ? WHERE id = ?");
        correct.bind(1, text.raw);
        correct.bind(2, ids.raw / 4);
        correct.bind(3, document);
        correct.exec();
    } else if (has_entry && is_size(bytes) && is_size(tokens)) {
        text.compare(bytes, full_text);
        ids.compare(tokens * 4, full_ids);
        if (lengths.end != ids.end) lengths.missing.push_back(lengths.end);
        if (ids.are_whole() && lengths.are_whole() && lengths.tokens != tokens) lengths.give_up();
    } else {
        text.give_up();
        ids.give_up();
        lengths.give_up();
    }
    if (!text.are_whole())
        document_losses_[document] = LostPart::DocumentText;
    else if (!ids.are_whole() || !lengths.are_whole())
        document_losses_[document] = LostPart::DocumentTokens;
    give_up(document, text, DocumentBlock::CleanText);
    give_up(document, ids, DocumentBlock::TokenIds);
    give_up(document, lengths, DocumentBlock::Lengths);
    for (const int64_t row : starts.damaged_rows) // the lengths say the same
        run("DELETE FROM document_blocks WHERE rowid = ?", row);
}

// Blocks that are missing are made, damaged.
void SalvageCheck::give_up(int64_t document, const Blocks& blocks, DocumentBlock kind)
{
    for (const int64_t index : blocks.missing)
        make_damaged_block(document, kind, index);
    for (const int64_t row : blocks.damaged_rows)
        run("UPDATE document_blocks SET raw = 1, hash = 0, data = x'' WHERE rowid = ?", row);
}

void SalvageCheck::check_session(int64_t session)
{
    bool is_whole = false;
    db_.transaction([&] {
        check_messages(session);
        is_whole = check_stream(session);
        check_fade_record(session);
        check_pins(session);
    });
    check_snapshots(session, is_whole);
    std::set<int64_t> told;
    for (const StreamPart& part : Conversations(db_).stream(session))
        if (const StreamDocument* document = document_in(part))
            if (const auto lost = document_losses_.find(document->id);
                lost != document_losses_.end() && told.insert(document->id).second)
                lose(lost->second, session, Library(db_).get(document->id).title);
    for (const int64_t document : told)
        told_documents_.insert(document);
}

// Leaves the place of a message, and nothing that could be taken for its text.
void SalvageCheck::empty_message(int64_t message)
{
    const int64_t bytes = number("SELECT length(ids) FROM messages WHERE id = ?", message);
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
    run("UPDATE messages SET parent = NULL WHERE session = ?1 AND parent NOT NULL AND parent NOT IN "
        "(SELECT id FROM messages WHERE session = ?1)",
        session);
    run("DELETE FROM read_again WHERE message IN (SELECT id FROM messages WHERE session = ?) AND "
        "document NOT IN (SELECT id FROM documents)",
        session);
    emptied_.clear();
    placeholders_.clear();
    const std::vector<Message> messages = Conversations(db_).messages(session);
    const auto roles = impossible_roles(db_, session, messages);
    uint64_t genuine = 0;
    for (const Message& message : messages) {
        check_stop_();
        const bool is_possible = (message.role == Role::User || message.role == Role::Assistant) &&
                                 message.state >= MessageState::Growing && message.state <= MessageState::Cut;
        const auto role = roles.find(message.id);
        if (!message.damaged && is_possible && role == roles.end()) {
            ++genuine;
            continue;
        }
        if (is_placeholder(message)) placeholders_.insert(message.id);
        run("UPDATE messages SET role = role <> 0, state = min(max(state, 0), 3) WHERE id = ?", message.id);
        if (role != roles.end())
            run("UPDATE messages SET role = " + std::to_string(static_cast<int>(role->second)) + " WHERE id = ?",
                message.id);
        empty_message(message.id);
    }
    const uint64_t known = static_cast<uint64_t>(count_of(known_messages_, session));
    lost_messages_ = std::max(known, messages.size() + deleted_messages_[session]) - genuine;
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
    bool is_whole = true;
    run("DELETE FROM stream WHERE session = ? AND NOT idx BETWEEN 0 AND " + most_index, session);
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
                if (emptied_.contains(message)) is_whole = false;
            }
            rows.push_back({query.getColumn(0).getInt64(), holds});
        }
    }
    int64_t next = 0;
    for (const Row& row : rows) {
        for (int64_t gap = next; gap < std::min(row.index, next + most_made_parts); ++gap)
            make_message(session, gap);
        if (!row.holds) make_message(session, row.index);
        is_whole &= row.index == next && row.holds;
        next = row.index + 1;
    }
    if (count_of(known_parts_, session) > static_cast<int64_t>(rows.size()) && is_whole) {
        make_message(session, next);
        is_whole = false;
    }
    lost_messages_ = std::max(lost_messages_, lost_messages);
    if (lost_messages_ > 0) lose(LostPart::Message, session, {}, lost_messages_);
    if (!is_whole) lose(LostPart::Stream, session);
    return is_whole;
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
        number("SELECT count(*) <> coalesce(max(idx) + 1, 0) FROM fading WHERE session = ?", session);
    bool can_be_read = !has_gap;
    if (can_be_read) try {
            Conversations(db_).each_fade_record_block(session, [](const auto&) { return true; });
        } catch (const Error&) {
            can_be_read = false;
        }
    if (can_be_read) return;
    run("DELETE FROM fading WHERE session = ?", session);
    lose(LostPart::FadeRecord, session);
}

void SalvageCheck::check_pins(int64_t session)
{
    const int64_t known =
        std::max(count_of(known_pins_, session), number("SELECT count(*) FROM pins WHERE session = ?", session));
    auto remove =
        db_.statement("DELETE FROM pins WHERE session = ? AND NOT (first >= 0 AND first < last AND last <= ?)");
    remove.bind(1, session);
    remove.bind(2, static_cast<int64_t>(tokens_of(Conversations(db_).stream(session))));
    remove.exec();
    const int64_t left = number("SELECT count(*) FROM pins WHERE session = ?", session);
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
        if (number("SELECT count(*) FROM settings WHERE rowid = ?", row) == 0)
            losses_.push_back({.session = {}, .part = LostPart::Setting, .name = key});
    for (const auto& [document, part] : document_losses_)
        if (!told_documents_.contains(document) &&
            number("SELECT count(*) FROM library WHERE document = ?", document) > 0)
            losses_.push_back({.session = {}, .part = part, .name = Library(db_).get(document).title});
}

// A document that no session is known to use any more would be deleted at the next start.
void SalvageCheck::keep_unused_documents()
{
    run(std::string("INSERT INTO library(document, added_ms) SELECT id, ? FROM documents WHERE complete = 1 AND ") +
            is_unused_document,
        now_ms());
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
            run("DELETE FROM " + table + " WHERE rowid = ?", row);
            tables_with_orphans_.insert(table);
        }
    db_.remove_unreferenced_blocks();
}

// Tables of which no session or document tells how many rows they had.
void SalvageCheck::check_details()
{
    for (const std::string& table : tables_of_details())
        if (rows_.has_losses(table) || tables_with_orphans_.contains(table))
            losses_.push_back({.session = {}, .part = LostPart::Details, .name = table});
}

void SalvageCheck::lose(LostPart part, int64_t session, const std::string& name, uint64_t count)
{
    losses_.push_back({.session = session_names_[session], .part = part, .name = name, .count = count});
}

int64_t SalvageCheck::number(const char* sql, int64_t parameter)
{
    auto query = db_.statement(sql);
    query.bind(1, parameter);
    return query.executeStep() ? query.getColumn(0).getInt64() : 0;
}

std::vector<int64_t> SalvageCheck::numbers(const char* sql)
{
    std::vector<int64_t> all;
    auto query = db_.statement(sql);
    while (query.executeStep())
        all.push_back(query.getColumn(0).getInt64());
    return all;
}

void SalvageCheck::run(const std::string& sql, int64_t parameter)
{
    auto statement = db_.statement(sql.c_str());
    statement.bind(1, parameter);
    statement.exec();
}

} // namespace palimpsest::storage
