// Derives the constant parts of a chat template: its text around the messages of a conversation.
//
// Renders conversations of one, two and three turns whose texts are sentinels, and splits the rendering at these.
// The template is usable for a stream of turns if the parts are the same in all of them.
#pragma once

#include <chrono>
#include <string>
#include <string_view>

namespace palimpsest::engine {

struct TurnFraming {
    std::string before_system,
        after_system;            // up to the first user text; without a system prompt, only after_system
    bool has_system = false;     // a system prompt goes between the two
    std::string close_user;      // from the user's text to the answer
    std::string close_assistant; // from an answer to the next user text
    bool trims_start = false, trims_end = false; // the template trims white space of user text
};

struct FramingInputs {
    std::string bos, eos, unknown; // pieces; empty: the model has none
    bool with_system = false;
    std::chrono::sys_days date{};
};

// `enable_thinking` is set to false, so that answers come at once from models whose template supports it. If the
// generation prompt omits the assistant's header that precedes earlier answers, the header is added.
//
// Throws Error (Failed): as jinja::Template does, and PAL-TEMPLATE-06 for a template that changes or repeats texts,
// whose parts depend on the position of a turn, or that prints more than 64 KiB around the texts.
TurnFraming derive_framing(std::string_view source, const FramingInputs& inputs);

} // namespace palimpsest::engine
