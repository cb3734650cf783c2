#include "engine/policy/state_bytes.h"

#include <bit>

#include "kernels/base/error.h"

namespace palimpsest::engine {

namespace {

constexpr size_t word_bytes = 4;

} // namespace

void StateWriter::word(uint32_t value)
{
    for (size_t i = 0; i < word_bytes; ++i)
        bytes_.push_back(static_cast<std::byte>(value >> (8 * i)));
}

void StateWriter::number(double value)
{
    const auto bits = std::bit_cast<uint64_t>(value);
    word(static_cast<uint32_t>(bits));
    word(static_cast<uint32_t>(bits >> 32));
}

double StateReader::number(const Text& meaning)
{
    const uint64_t low = word(meaning), high = word(meaning);
    return std::bit_cast<double>(low | high << 32);
}

uint32_t StateReader::word(const Text& meaning)
{
    if (bytes_.size() < word_bytes)
        refuse(Text("it ends inside the value '{0}': only {1} of {2} bytes are there", meaning, bytes_.size(),
                    word_bytes));
    uint32_t value = 0;
    for (size_t i = 0; i < word_bytes; ++i)
        value |= std::to_integer<uint32_t>(bytes_[i]) << (8 * i);
    bytes_ = bytes_.subspan(word_bytes);
    return value;
}

uint32_t StateReader::word_within(const Text& meaning, uint32_t least, uint32_t most)
{
    const uint32_t value = word(meaning);
    if (value < least || value > most)
        refuse(Text("its value '{0}' is {1} where {2} to {3} is possible", meaning, value, least, most));
    return value;
}

void StateReader::expect_end() const
{
    if (!bytes_.empty()) refuse(Text("it has {0} bytes after its end", bytes_.size()));
}

void StateReader::refuse(Text what)
{
    throw Error(ErrorKind::Failed, ErrorCode::DamagedPolicyState, Text("saved policy state"), std::move(what),
                Text("use the snapshot with the model, policy and budget it was made with"));
}

} // namespace palimpsest::engine
