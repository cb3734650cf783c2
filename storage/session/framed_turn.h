// The turn of a message: what is fed for it, with the passages that are read again before it.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "engine/text/chat_template.h"
#include "storage/session/session_stream.h"

namespace palimpsest::storage {

// A passage of a document that is read again.
struct QuotedPassage {
    std::string place; // as the model is shown it
    std::vector<engine::TokenId> ids;
};

struct FramedTurn {
    std::vector<engine::TokenId> ids{};
    std::vector<uint64_t> passages_at{}; // index in `ids` of the first token of each passage
};

// The ids that are fed for a message after `stream`: the framing that opens its turn, the passages, the message,
// and the framing that asks for an answer.
FramedTurn frame_turn(const engine::ChatTemplate& chat_template, const SessionStream& stream,
                      const std::string& message, std::span<const QuotedPassage> passages);

} // namespace palimpsest::storage
