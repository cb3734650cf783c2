// The bytes of a policy's state: little-endian 32-bit words on every machine.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "kernels/base/text.h"

namespace palimpsest::engine {

class StateWriter {
public:
    void word(uint32_t value);
    void number(double value);
    std::vector<std::byte> take() { return std::move(bytes_); }

private:
    std::vector<std::byte> bytes_;
};

// Throws Error (Failed, DamagedPolicyState) for bytes of another policy, or damaged ones. `meaning` names the value
// in that error, such as "number of levels".
class StateReader {
public:
    explicit StateReader(std::span<const std::byte> bytes) : bytes_(bytes) {}

    uint32_t word(const Text& meaning);
    double number(const Text& meaning); // any 64 bits, NaN included
    // Refuses a word outside [least, most].
    uint32_t word_within(const Text& meaning, uint32_t least, uint32_t most);
    void expect_end() const;
    [[noreturn]] static void refuse(Text what);

private:
    std::span<const std::byte> bytes_;
};

} // namespace palimpsest::engine
