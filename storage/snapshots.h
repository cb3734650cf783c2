// Saved states of sessions. Text is the truth, a snapshot is a cache: it may always be thrown away and made again.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>

#include "engine/session/session_state.h"
#include "storage/database.h"
#include "storage/snapshot_codec.h"

namespace palimpsest::storage {

struct SnapshotInfo {
    int64_t id = 0;
    uint64_t tokens_seen = 0;
    uint64_t bytes = 0; // as stored, of its own and shared blocks
    int64_t created_ms = 0;
};

class Snapshots {
public:
    explicit Snapshots(Database& database) : db_(database) {}

    // Blocks go in under `complete` 0, at most 16 a transaction; one last transaction makes the snapshot complete,
    // runs `with_it` (what must be true together with it), and lets go of all but it and one before (L17): the
    // newest of another place in the stream, if there is one. Returns its id. A failure leaves the older ones.
    int64_t save(int64_t session, const engine::SessionState& state, const std::function<void()>& with_it = {});

    std::vector<SnapshotInfo> of(int64_t session); // complete ones, newest first
    // Throws Error (Failed, PAL-SNAP-03) for one that is damaged, or larger than the limit (by default what is
    // there).
    engine::SessionState load(int64_t snapshot, PayloadLimit limit = {});
    // Reads all of it and compares every checksum.
    void verify(int64_t snapshot);

    // The other session gets the same snapshot; blocks are shared.
    int64_t share(int64_t snapshot, int64_t session);
    void remove(int64_t snapshot);
    void remove_all(int64_t session);
    // Of a stream that goes on no longer after `tokens`: those that stand beyond it, with the tokens that wait for
    // their chunk, and those that cannot say where they stand. Within a transaction.
    void remove_after(int64_t session, uint64_t tokens);
    // What a crash left behind, and blocks that nobody names.
    void sweep();

private:
    void write(int64_t id, int64_t session, const engine::SessionState& state,
               const std::function<void()>& with_it);
    void abandon(int64_t id);
    void forget(int64_t id);                                            // within a transaction
    void forget_older(int64_t session, int64_t newest, uint64_t place); // in tokens; within a transaction
    int64_t put_block(std::span<const std::byte> raw, const BlockName& name);
    uint64_t bytes_at_most(int64_t snapshot);
    void read_block(int64_t snapshot, size_t index, std::span<std::byte> to);

    Database& db_;
};

} // namespace palimpsest::storage
