#include "engine/model/files/protobuf_fields.h"

namespace palimpsest::engine {

void ProtobufFields::fail(const Text& what) const
{
    refuse_.fail(ErrorCode::ModelT9, Text("{0} (byte {1} of its message)", what, cursor_.position()));
}

uint64_t ProtobufFields::varint()
{
    uint64_t value = 0;
    for (int shift = 0;; shift += 7) {
        const auto byte = cursor_.read<uint8_t>();
        if (!byte) fail(Text("a number is cut off"));
        // The tenth byte has room for one bit, and no continuation flag.
        if (shift == 63 && *byte > 1) fail(Text("a number has more than 64 bits"));
        value |= static_cast<uint64_t>(*byte & 0x7F) << shift;
        if ((*byte & 0x80) == 0) return value;
    }
}

template<typename T>
uint64_t ProtobufFields::fixed()
{
    const auto value = cursor_.read<T>();
    if (!value) fail(Text("a number is cut off"));
    return *value;
}

std::optional<ProtobufFields::Field> ProtobufFields::next()
{
    if (cursor_.remaining() == 0) return std::nullopt;
    const uint64_t tag = varint();
    Field field{tag >> 3, static_cast<Wire>(tag & 7), 0, {}};
    if (field.number == 0 || field.number >= (uint64_t{1} << 29))
        fail(Text("field number {0} does not exist", field.number));
    switch (field.wire) {
    case Wire::Varint:
        field.integer = varint();
        break;
    case Wire::Fixed64:
        field.integer = fixed<uint64_t>();
        break;
    case Wire::Fixed32:
        field.integer = fixed<uint32_t>();
        break;
    case Wire::Bytes: {
        const uint64_t length = varint();
        const auto bytes = cursor_.take(length);
        if (!bytes) {
            fail(Text("a field claims {0} bytes but {1} follow", length, cursor_.remaining()));
        }
        field.bytes = {reinterpret_cast<const char*>(bytes->data()), bytes->size()};
        break;
    }
    default:
        fail(Text("a group or an unknown kind of field"));
    }
    return field;
}

} // namespace palimpsest::engine
