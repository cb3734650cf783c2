// A session's exact state as bytes: a header that says everything small, and blocks of at most 1 MiB of everything
// large. Format 3, little-endian (reliability.md, 3.5); formats 1, which had no pins, and 2, which had no moments
// and no probe tokens, are read too:
//
//   header   magic "PALSNAP\1", u32 format, identities, settings, pins, probe tokens, stream position, sampler,
//            policy, probe, the length of every list, then per block u32 raw bytes and 16 bytes XXH3-128 of them
//   payload  logits; then per (layer, head): stream u32[n], sums f64[n], counts f64[n] (with signals), moments
//            f64[n, group, 2] (with moments), keys, values; cut into blocks of 1 MiB without regard to what they
//            hold
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
    uint32_t bytes = 0; // raw
    Hash128 hash{};
};

// Hands over the payload block by block, in order, and returns the header.
std::vector<std::byte> encode(const engine::SessionState& state,
                              const std::function<void(const BlockName&, std::span<const std::byte>)>& sink);

// The blocks a header names. Throws Error (Failed, PAL-SNAP-03) for a header that is damaged, PAL-SNAP-05 for a
// format of another version. The header's own hash has been checked by the caller.
std::vector<BlockName> blocks_of(std::span<const std::byte> header);

// Tokens of the stream that its state stands after: those that are computed and those that wait for their chunk.
// Throws as blocks_of does.
uint64_t position_of(std::span<const std::byte> header);

// The most bytes a payload can have, asked before anything is allocated for it (rule K3): of a state that has all
// but its logits and lists.
using PayloadLimit = std::function<uint64_t(const engine::SessionState&)>;

// `block(i, bytes)` fills exactly the bytes of block i. Throws Error (Failed, PAL-SNAP-03) if anything is not what
// the header says; whether it fits a model is the engine's to say (Session::restore).
engine::SessionState decode(std::span<const std::byte> header,
                            const std::function<void(size_t, std::span<std::byte>)>& block,
                            const PayloadLimit& limit);

} // namespace palimpsest::storage
