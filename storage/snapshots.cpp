#include "storage/snapshots.h"

#include <cstring>
#include <functional>
#include <string>

#include "kernels/base/error.h"
#include "storage/clock.h"
#include "storage/packing.h"
#include "storage/snapshot_codec.h"

namespace palimpsest::storage {
namespace {

constexpr int blocks_per_transaction = 16; // limits a transaction to 16 MiB

[[noreturn]] void refuse_damaged_snapshot(const Text& what)
{
    throw Error(ErrorKind::Failed, ErrorCode::DamagedSnapshot, Text("saved session"),
                Text("its cache is damaged: {0}", what), Text("read its text again"));
}

int bytes(std::span<const std::byte> data)
{
    return static_cast<int>(data.size());
}

// Stream tokens that a state has computed or that wait for their chunk; nullopt if the header is damaged.
std::optional<uint64_t> place_of(std::span<const std::byte> header, int64_t hash)
try {
    return hash64(header) == hash ? std::optional(position_of(header)) : std::nullopt;
} catch (const Error&) {
    return std::nullopt;
}

} // namespace

int64_t Snapshots::save(int64_t session, const engine::SessionState& state, const std::function<void()>& with_it,
                        SnapshotForm form)
{
    int64_t id = 0;
    db_.transaction([&] {
        auto insert = db_.statement("INSERT INTO snapshots(session, complete, tokens_seen, header, hash, bytes, "
                                    "created_ms) VALUES(?, 0, ?, x'', 0, 0, ?)");
        insert.bind(1, session);
        insert.bind(2, static_cast<int64_t>(state.tokens_seen));
        insert.bind(3, now_ms());
        insert.exec();
        id = db_.last_row();
    });
    try {
        write(id, session, state, with_it, form);
    } catch (...) {
        abandon(id);
        throw;
    }
    return id;
}

void Snapshots::write(int64_t id, int64_t session, const engine::SessionState& state,
                      const std::function<void()>& with_it, SnapshotForm form)
{
    // Writes a few blocks at a time, so that neither a transaction nor the buffer exceeds 16 MiB.
    std::vector<std::pair<BlockName, std::vector<std::byte>>> waiting;
    int64_t next = 0;
    const auto flush = [&] {
        if (waiting.empty()) return;
        db_.transaction([&] {
            auto name = db_.statement("INSERT INTO snapshot_blocks(snapshot, idx, block) VALUES(?, ?, ?)");
            for (const auto& [block, raw] : waiting) {
                name.bind(1, id);
                name.bind(2, next++);
                name.bind(3, put_block(raw, block));
                name.exec();
                name.reset();
            }
        });
        waiting.clear();
    };
    const auto header = encode(state, form, [&](const BlockName& block, std::span<const std::byte> raw) {
        waiting.emplace_back(block, std::vector(raw.begin(), raw.end()));
        if (waiting.size() == blocks_per_transaction) flush();
    });
    flush();
    db_.transaction([&] {
        auto finish = db_.statement("UPDATE snapshots SET complete = 1, header = ?, hash = ?, bytes = ? + ("
                                    "SELECT coalesce(sum(length(data)), 0) FROM snapshot_blocks "
                                    "JOIN blocks ON blocks.id = block WHERE snapshot = ?) WHERE id = ?");
        finish.bindNoCopy(1, header.data(), bytes(header));
        finish.bind(2, hash64(header));
        finish.bind(3, static_cast<int64_t>(header.size()));
        finish.bind(4, id);
        finish.bind(5, id);
        finish.exec();
        forget_older(session, id, state.tokens_seen + state.pending.size());
        db_.remove_unreferenced_blocks();
        if (with_it) with_it();
    });
    db_.count_written(header.size());
}

// A session keeps two checkpoints: the newest, and one more to go back to, if possible with another number of
// tokens.
void Snapshots::forget_older(int64_t session, int64_t newest, uint64_t place)
{
    auto query = db_.statement("SELECT id, header, hash FROM snapshots "
                               "WHERE session = ? AND complete = 1 AND id <> ? ORDER BY id DESC");
    query.bind(1, session);
    query.bind(2, newest);
    int64_t other = newest;
    bool is_elsewhere = false;
    while (!is_elsewhere && query.executeStep()) {
        const auto there = place_of(blob(query.getColumn(1)), query.getColumn(2).getInt64());
        is_elsewhere = there && *there != place;
        if (is_elsewhere || other == newest) other = query.getColumn(0).getInt64();
    }
    auto forget = db_.statement("DELETE FROM snapshots WHERE session = ? AND id NOT IN (?, ?)");
    forget.bind(1, session);
    forget.bind(2, newest);
    forget.bind(3, other);
    forget.exec();
}

// Deletes an unfinished checkpoint, which would keep a full disk full.
void Snapshots::abandon(int64_t id)
{
    try {
        remove(id);
    } catch (const Error&) {
        // The checkpoint stays incomplete: readers do not see it, and the next start removes it.
    }
}

void Snapshots::forget(int64_t id)
{
    auto remove = db_.statement("DELETE FROM snapshots WHERE id = ?");
    remove.bind(1, id);
    remove.exec();
}

void Snapshots::remove(int64_t snapshot)
{
    db_.in_transaction([&] {
        forget(snapshot);
        db_.remove_unreferenced_blocks();
    });
}

int64_t Snapshots::put_block(std::span<const std::byte> raw, const BlockName& name)
{
    auto find = db_.statement("SELECT id, seal, data FROM blocks WHERE hash = ? AND raw = ?");
    find.bindNoCopy(1, name.hash.data(), static_cast<int>(name.hash.size()));
    find.bind(2, static_cast<int64_t>(raw.size()));
    const bool found = find.executeStep();
    const int64_t there = found ? find.getColumn(0).getInt64() : 0;
    if (found) {
        const SQLite::Column column = find.getColumn(2);
        if (hash64(blob(column)) == find.getColumn(1).getInt64()) return there;
    }
    // Writes a new block, or rewrites one that is damaged.
    const auto stored = pack(raw);
    auto write = db_.statement(found ? "UPDATE blocks SET seal = ?, data = ? WHERE id = ?"
                                     : "INSERT INTO blocks(seal, data, hash, raw) VALUES(?, ?, ?, ?)");
    write.bind(1, hash64(stored));
    write.bindNoCopy(2, stored.data(), bytes(stored));
    if (found) {
        write.bind(3, there);
    } else {
        write.bindNoCopy(3, name.hash.data(), static_cast<int>(name.hash.size()));
        write.bind(4, static_cast<int64_t>(raw.size()));
    }
    write.exec();
    db_.count_written(stored.size());
    return found ? there : db_.last_row();
}

std::vector<SnapshotInfo> Snapshots::of(int64_t session)
{
    return db_.guarded([&] {
        std::vector<SnapshotInfo> all;
        auto query = db_.statement("SELECT id, tokens_seen, bytes, created_ms, substr(header, 1, ?) "
                                   "FROM snapshots WHERE session = ? AND complete = 1 ORDER BY id DESC");
        query.bind(1, static_cast<int64_t>(form_bytes));
        query.bind(2, session);
        while (query.executeStep())
            all.push_back({.id = query.getColumn(0).getInt64(),
                           .tokens_seen = static_cast<uint64_t>(query.getColumn(1).getInt64()),
                           .bytes = static_cast<uint64_t>(query.getColumn(2).getInt64()),
                           .created_ms = query.getColumn(3).getInt64(),
                           .form = form_of(blob(query.getColumn(4)))});
        return all;
    });
}

engine::SessionState Snapshots::load(int64_t snapshot, PayloadLimit limit)
{
    if (!limit) limit = [&](const engine::SessionState&) { return bytes_at_most(snapshot); };
    return db_.guarded([&] {
        auto query = db_.statement("SELECT header, hash, tokens_seen FROM snapshots WHERE id = ? AND complete = 1");
        query.bind(1, snapshot);
        if (!query.executeStep()) refuse_damaged_snapshot(Text("it is not there any more"));
        const auto found = blob(query.getColumn(0));
        const std::vector<std::byte> header(found.begin(), found.end());
        if (hash64(header) != query.getColumn(1).getInt64())
            refuse_damaged_snapshot(Text("its header does not match its checksum"));
        auto state = decode(
            header, [&](size_t index, std::span<std::byte> to) { read_block(snapshot, index, to); }, limit);
        if (state.tokens_seen != static_cast<uint64_t>(query.getColumn(2).getInt64()))
            refuse_damaged_snapshot(Text("it is not the cache that was saved here"));
        return state;
    });
}

uint64_t Snapshots::bytes_at_most(int64_t snapshot)
{
    auto query = db_.statement("SELECT count(*) FROM snapshot_blocks WHERE snapshot = ?");
    query.bind(1, snapshot);
    query.executeStep();
    return static_cast<uint64_t>(query.getColumn(0).getInt64()) * 8 * block_bytes;
}

void Snapshots::read_block(int64_t snapshot, size_t index, std::span<std::byte> to)
{
    auto query = db_.statement("SELECT raw, seal, data FROM snapshot_blocks JOIN blocks ON blocks.id = block "
                               "WHERE snapshot = ? AND idx = ?");
    query.bind(1, snapshot);
    query.bind(2, static_cast<int64_t>(index));
    if (!query.executeStep()) refuse_damaged_snapshot(Text("block {0} is missing", index));
    if (query.getColumn(0).getInt64() != static_cast<int64_t>(to.size()))
        refuse_damaged_snapshot(Text("block {0} has another length", index));
    const SQLite::Column column = query.getColumn(2);
    const auto stored = blob(column);
    if (hash64(stored) != query.getColumn(1).getInt64() || !unpack(stored, to))
        refuse_damaged_snapshot(Text("block {0} cannot be unpacked", index));
}

void Snapshots::verify(int64_t snapshot)
{
    load(snapshot);
}

int64_t Snapshots::share(int64_t snapshot, int64_t session)
{
    int64_t id = 0;
    db_.in_transaction([&] {
        auto copy =
            db_.statement("INSERT INTO snapshots(session, complete, tokens_seen, header, hash, bytes, created_ms) "
                          "SELECT ?, complete, tokens_seen, header, hash, bytes, ? FROM snapshots WHERE id = ?");
        copy.bind(1, session);
        copy.bind(2, now_ms());
        copy.bind(3, snapshot);
        copy.exec();
        id = db_.last_row();
        auto names = db_.statement("INSERT INTO snapshot_blocks(snapshot, idx, block) "
                                   "SELECT ?, idx, block FROM snapshot_blocks WHERE snapshot = ?");
        names.bind(1, id);
        names.bind(2, snapshot);
        names.exec();
    });
    return id;
}

void Snapshots::remove_all(int64_t session)
{
    db_.in_transaction([&] {
        auto forget = db_.statement("DELETE FROM snapshots WHERE session = ?");
        forget.bind(1, session);
        forget.exec();
        db_.remove_unreferenced_blocks();
    });
}

void Snapshots::remove_after(int64_t session, uint64_t tokens)
{
    db_.guarded([&] {
        std::vector<int64_t> beyond;
        auto query = db_.statement("SELECT id, header, hash FROM snapshots WHERE session = ?");
        query.bind(1, session);
        while (query.executeStep()) {
            const auto place = place_of(blob(query.getColumn(1)), query.getColumn(2).getInt64());
            if (!place || *place > tokens) beyond.push_back(query.getColumn(0).getInt64());
        }
        for (const int64_t id : beyond)
            forget(id);
        db_.remove_unreferenced_blocks();
    });
}

void Snapshots::sweep()
{
    db_.transaction([&] {
        db_.sql().exec("DELETE FROM snapshots WHERE complete = 0");
        db_.remove_unreferenced_blocks();
    });
}

} // namespace palimpsest::storage
