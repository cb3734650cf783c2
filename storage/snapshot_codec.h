// Serializes a session state exactly: a header with all small values, and a payload in blocks of at most 1 MiB.
// Little-endian. Writes format 3; also reads format 1 (no pins) and format 2 (no moments, no question rows):
//
//   header   magic "PALSNAP\1", u32 format, identities, settings, pins, question rows, stream position, sampler,
//            policy, integrity check, the length of every list, then per block: u32 raw bytes and their XXH3-128
//            (16 bytes)
//   payload  logits; then per (layer, KV head): stream u32[n], sums f64[n], counts f64[n] (with signals), moments
//            f64[n, group size, 2] (with moments), keys, values; a block may end within any of these
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <vector>

#include "engine/session/session_state.h"
#include "storage/hash.h"

namespace palimpsest::storage {

inline constexpr size_t block_bytes = 1 << 20;

struct BlockName {
    uint32_t bytes = 0; // uncompressed
    Hash128 hash{};
};

// Passes the payload to `sink` block by block, in order, and returns the header.
std::vector<std::byte> encode(const engine::SessionState& state,
                              const std::function<void(const BlockName&, std::span<const std::byte>)>& sink);

// Returns the blocks that a header names. Throws Error (Failed, PAL-SNAP-03) for a damaged header, PAL-SNAP-05 for
// an unknown format version. REQUIRES: the caller has checked the header's own hash.
std::vector<BlockName> blocks_of(std::span<const std::byte> header);

// Returns the number of stream tokens that the state covers: computed ones and those still waiting for their chunk.
// Throws like blocks_of.
uint64_t position_of(std::span<const std::byte> header);

// Returns the largest valid payload size in bytes; called before any payload memory is allocated, with a state that
// has everything but logits and lists (docs/validation.md, K3).
using PayloadLimit = std::function<uint64_t(const engine::SessionState&)>;

// `block(i, bytes)` fills exactly the bytes of block i. Throws Error (Failed, PAL-SNAP-03) if anything contradicts
// the header. Does not check whether the state fits a model; Session::restore does.
engine::SessionState decode(std::span<const std::byte> header,
                            const std::function<void(size_t, std::span<std::byte>)>& block,
                            const PayloadLimit& limit);

} // namespace palimpsest::storage
