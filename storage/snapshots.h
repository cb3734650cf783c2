// Checkpoints of sessions. The text is authoritative; a checkpoint is a cache that can be deleted and rebuilt.
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
    uint64_t bytes = 0; // stored size, including shared blocks
    int64_t created_ms = 0;
    SnapshotForm form = SnapshotForm::Exact;
};

class Snapshots {
public:
    explicit Snapshots(Database& database) : db_(database) {}

    // Writes blocks while `complete` is 0, at most 16 per transaction. A last transaction sets `complete`, runs
    // `with_it` (changes that must be atomic with the checkpoint) and deletes all older checkpoints but one: the
    // newest with another number of tokens, or else the newest. Returns the id. On failure the older ones stay.
    // The rows of the state should be rounded to `form`, or are stored exactly.
    int64_t save(int64_t session, const engine::SessionState& state, const std::function<void()>& with_it = {},
                 SnapshotForm form = SnapshotForm::Exact);

    std::vector<SnapshotInfo> of(int64_t session); // complete ones, newest first
    // Throws Error (Failed, PAL-SNAP-03) if damaged or larger than the limit (default: 8 MiB per stored block,
    // which coded rows can take in memory).
    engine::SessionState load(int64_t snapshot, PayloadLimit limit = {});
    // Reads the whole checkpoint and compares every checksum.
    void verify(int64_t snapshot);

    // Gives `session` the same checkpoint; the blocks are shared.
    int64_t share(int64_t snapshot, int64_t session);
    void remove(int64_t snapshot);
    void remove_all(int64_t session);
    // Deletes checkpoints that extend beyond `tokens`, counting tokens that wait for their chunk, and those whose
    // stream position cannot be read. Within a transaction.
    void remove_after(int64_t session, uint64_t tokens);
    // Removes what a crash left incomplete, and unused blocks.
    void sweep();

private:
    void write(int64_t id, int64_t session, const engine::SessionState& state, const std::function<void()>& with_it,
               SnapshotForm form);
    void abandon(int64_t id);
    void forget(int64_t id);                                            // within a transaction
    void forget_older(int64_t session, int64_t newest, uint64_t place); // place: in tokens; within a transaction
    int64_t put_block(std::span<const std::byte> raw, const BlockName& name);
    uint64_t bytes_at_most(int64_t snapshot);
    void read_block(int64_t snapshot, size_t index, std::span<std::byte> to);

    Database& db_;
};

} // namespace palimpsest::storage
