// Iterates over the fields of one protobuf message with bounds checks (docs/validation.md, T9). A nested message is
// read with a new ProtobufFields over its bytes, so the caller controls the depth.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "engine/model/files/byte_cursor.h"
#include "engine/model/files/refusal.h"

namespace palimpsest::engine {

class ProtobufFields {
public:
    enum class Wire : uint32_t { Varint = 0, Fixed64 = 1, Bytes = 2, Fixed32 = 5 };
    struct Field {
        uint64_t number = 0;
        Wire wire = Wire::Varint;
        uint64_t integer = 0;   // Varint, Fixed32 and Fixed64: the raw bits
        std::string_view bytes; // Bytes
    };

    ProtobufFields(std::string_view message, const Refusal& refuse)
        : cursor_(std::as_bytes(std::span(message.data(), message.size()))), refuse_(refuse)
    {
    }

    // Empty at the end of the message.
    std::optional<Field> next();

private:
    uint64_t varint();
    template<typename T>
    uint64_t fixed();
    [[noreturn]] void fail(const Text& what) const;

    ByteCursor cursor_;
    const Refusal& refuse_;
};

} // namespace palimpsest::engine
