// The source that an answer is written from.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace palimpsest::storage {

enum class AnswerFrom : uint8_t {
    Auto,    // passages, if some are read again, and in a conversation if it is a question (may_answer_apart)
    Session, // what it holds, and the passages that are read again
    Passages // those that were found; the session, if none were
};

// "auto", "session", "passages".
std::string_view name_of(AnswerFrom from);
std::optional<AnswerFrom> answer_from(std::string_view name);

} // namespace palimpsest::storage
