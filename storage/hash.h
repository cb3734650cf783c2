// XXH3 of stored content: finds accidents, not attackers (reliability.md, 2.1).
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
int64_t hash64(std::span<const std::byte> bytes); // as SQLite's INTEGER has it

// hash64 of bytes that come in pieces.
class Hasher64 {
public:
    Hasher64();
    void push(std::span<const std::byte> bytes);
    int64_t value() const; // of what was pushed so far

private:
    struct Free {
        void operator()(XXH3_state_s* state) const;
    };
    std::unique_ptr<XXH3_state_s, Free> state_;
};

} // namespace palimpsest::storage
