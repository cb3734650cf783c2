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

double StateReader::number(const char* meaning)
{
    const uint64_t low = word(meaning), high = word(meaning);
    return std::bit_cast<double>(low | high << 32);
}

uint32_t StateReader::word(const char* meaning)
{
    if (bytes_.size() < word_bytes) {
        refuse(std::string("ends inside its ") + meaning + ", with " + std::to_string(bytes_.size()) +
               " bytes left of " + std::to_string(word_bytes));
    }
    uint32_t value = 0;
    for (size_t i = 0; i < word_bytes; ++i)
        value |= std::to_integer<uint32_t>(bytes_[i]) << (8 * i);
    bytes_ = bytes_.subspan(word_bytes);
    return value;
}

uint32_t StateReader::word_within(const char* meaning, uint32_t least, uint32_t most)
{
    const uint32_t value = word(meaning);
    if (value < least || value > most) {
        refuse(std::string("has ") + meaning + " " + std::to_string(value) + " where " + std::to_string(least) +
               " to " + std::to_string(most) + " is possible");
    }
    return value;
}

void StateReader::expect_end() const
{
    if (!bytes_.empty()) refuse("has bytes after its end: " + std::to_string(bytes_.size()));
}

void StateReader::refuse(const std::string& what)
{
    throw Error(ErrorKind::Failed, "PAL-POLICY-05", "saved policy state", what,
                "use the snapshot with the model, policy and budget it was made with");
}

} // namespace palimpsest::engine
