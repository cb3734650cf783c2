// The constant parts of a chat template: what it prints around the texts of a conversation.
//
// The template renders conversations of one, two and three turns whose texts are sentinels; the rendering is split
// there. It can be used for a stream of turns if the parts are the same in all of them.
#pragma once

#include <chrono>
#include <string>
#include <string_view>

namespace palimpsest::engine {

struct TurnFraming {
    std::string before_system, after_system; // up to the first user's text; all of it in the latter without system
    bool has_system = false;                 // the system prompt belongs between the two
    std::string close_user;                  // after the user's text, up to the answer
    std::string close_assistant;             // after an answer, up to the next user's text
    bool trims_start = false, trims_end = false; // the template takes white space off the user's text
};

struct FramingInputs {
    std::string bos, eos, unknown; // pieces; empty: the model has none
    bool with_system = false;
    std::chrono::sys_days date{};
};

// `enable_thinking` is false for templates that know it, so that answers come at once. A generation prompt that
// leaves out the assistant's header, as printed before earlier answers, is completed with it.
//
// Throws Error (Failed): as jinja::Template does, and PAL-TEMPLATE-06 for a template that changes or repeats texts,
// whose parts depend on the position of a turn, or that prints more than 64 KiB around the texts.
TurnFraming derive_framing(std::string_view source, const FramingInputs& inputs);

} // namespace palimpsest::engine
