// Serializes a session state exactly: a header with all small values, and a payload in blocks of at most 1 MiB.
// Little-endian. Writes format 3, or format 4 if rows are coded; also reads format 1 (no pins) and format 2 (no
// moments, no question rows):
//
//   header   magic "PALSNAP\1", u32 format, in format 4 the form (u8), identities, settings, pins, question rows,
//            stream position, sampler, policy, integrity check, the length of every list, in format 4 per list the
//            number of keys and of values that are not coded, then per block: u32 raw bytes and their XXH3-128 (16
//            bytes)
//   payload  logits; then per (layer, KV head): stream u32[n], sums f64[n], counts f64[n] (with signals), moments
//            f64[n, group size, 2] (with moments), keys, values; a block may end within any of these
//   keys, values of format 4
//            one bit per row, 1 if it is coded (row i: bit i % 8 of byte i / 8); the coded rows
//            (kernels/row_code.h); the other rows as they are. Only rows that decoding gives back bit for bit are
//            coded
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <vector>

#include "engine/session/session_state.h"
#include "storage/hash.h"
#include "storage/snapshot_form.h"

namespace palimpsest::storage {

inline constexpr size_t block_bytes = 1 << 20;

struct BlockName {
    uint32_t bytes = 0; // uncompressed
    Hash128 hash{};
};

// Passes the payload to `sink` block by block, in order, and returns the header. A smaller `form` makes it smaller
// if the rows of the state are rounded (rounding_of).
std::vector<std::byte> encode(const engine::SessionState& state, SnapshotForm form,
                              const std::function<void(const BlockName&, std::span<const std::byte>)>& sink);

// Returns the blocks that a header names. Throws Error (Failed, PAL-SNAP-03) for a damaged header, PAL-SNAP-05 for
// an unknown format version. REQUIRES: the caller has checked the header's own hash.
std::vector<BlockName> blocks_of(std::span<const std::byte> header);

// Returns the number of stream tokens that the state covers: computed ones and those still waiting for their chunk.
// Throws like blocks_of.
uint64_t position_of(std::span<const std::byte> header);

// The form of a checkpoint, from the first `form_bytes` bytes of its header, which may be damaged.
inline constexpr size_t form_bytes = 13;
SnapshotForm form_of(std::span<const std::byte> header);

// Returns the most bytes that a valid payload can take in memory (docs/validation.md, K3). decode() calls it before
// it allocates memory for the payload; the logits and lists of the state are still empty then.
using PayloadLimit = std::function<uint64_t(const engine::SessionState&)>;

// `block(i, bytes)` fills exactly the bytes of block i. Throws Error (Failed, PAL-SNAP-03) if anything contradicts
// the header. Does not check whether the state fits a model; Session::restore does.
engine::SessionState decode(std::span<const std::byte> header,
                            const std::function<void(size_t, std::span<std::byte>)>& block,
                            const PayloadLimit& limit);

} // namespace palimpsest::storage
