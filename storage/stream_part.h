// One element of a session's stream: framing, a document, or a message. The stream is their concatenation.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <variant>
#include <vector>

#include "engine/text/subwords/vocabulary.h"

namespace palimpsest::storage {

// Tokens of the chat template around documents and messages.
struct StreamFraming {
    std::vector<engine::TokenId> ids{};
    uint64_t tokens = ids.size(); // as stored; another number than ids.size() means that the record is damaged
};

struct StreamDocument {
    int64_t id = 0;
    uint64_t tokens = 0;
};

struct StreamMessage {
    std::optional<int64_t> id{}; // nullopt: not stored yet (TurnJournal)
    uint64_t tokens = 0;         // so far; grows while an answer is generated
};

using StreamPart = std::variant<StreamFraming, StreamDocument, StreamMessage>;

inline uint64_t tokens_of(const StreamPart& part)
{
    return std::visit([](const auto& p) { return p.tokens; }, part);
}
inline uint64_t tokens_of(std::span<const StreamPart> parts) // together
{
    uint64_t tokens = 0;
    for (const StreamPart& part : parts)
        tokens += tokens_of(part);
    return tokens;
}

// nullptr if the part is something else.
inline const StreamFraming* framing_in(const StreamPart& part)
{
    return std::get_if<StreamFraming>(&part);
}
inline const StreamDocument* document_in(const StreamPart& part)
{
    return std::get_if<StreamDocument>(&part);
}
inline const StreamMessage* message_in(const StreamPart& part)
{
    return std::get_if<StreamMessage>(&part);
}

inline bool has_messages(std::span<const StreamPart> parts)
{
    return std::any_of(parts.begin(), parts.end(),
                       [](const StreamPart& part) { return message_in(part) != nullptr; });
}

} // namespace palimpsest::storage
