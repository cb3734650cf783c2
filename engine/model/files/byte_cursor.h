// Reads little-endian values. Only take() checks bounds, and every read of file content goes through it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <type_traits>

namespace palimpsest::engine {

class ByteCursor {
public:
    explicit ByteCursor(std::span<const std::byte> bytes) : bytes_(bytes) {}

    uint64_t position() const { return position_; }
    uint64_t remaining() const { return bytes_.size() - position_; }

    // Returns the next n bytes; returns nothing and does not advance if fewer are left.
    std::optional<std::span<const std::byte>> take(uint64_t n)
    {
        if (n > remaining()) return std::nullopt;
        const auto taken = bytes_.subspan(position_, n);
        position_ += n;
        return taken;
    }

    template<typename T>
    std::optional<T> read()
    {
        static_assert(std::is_arithmetic_v<T>);
        const auto taken = take(sizeof(T));
        if (!taken) return std::nullopt;
        T value;
        std::memcpy(&value, taken->data(), sizeof value);
        return value;
    }

private:
    std::span<const std::byte> bytes_;
    uint64_t position_ = 0;
};

static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "model files are read without swapping bytes");

} // namespace palimpsest::engine
