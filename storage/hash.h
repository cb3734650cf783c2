// XXH3 of stored content: detects accidental damage, not deliberate tampering.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

struct XXH3_state_s;

namespace palimpsest::storage {

using Hash128 = std::array<std::byte, 16>;

Hash128 hash128(std::span<const std::byte> bytes);
int64_t hash64(std::span<const std::byte> bytes); // as a signed SQLite INTEGER

// hash64 of bytes that arrive in several pieces.
class Hasher64 {
public:
    Hasher64();
    void push(std::span<const std::byte> bytes);
    int64_t value() const; // hash of the bytes pushed so far

private:
    struct Free {
        void operator()(XXH3_state_s* state) const;
    };
    std::unique_ptr<XXH3_state_s, Free> state_;
};

} // namespace palimpsest::storage
