// The framing of turns for a model.
//
// A document streams into the open user turn; the question follows it after an empty line; then the turn is closed
// and the assistant's opened. The parts between come from the model's own template (turn_framing.h):
//
//     open_user  DOCUMENT  next_document  DOCUMENT  question  close_user_open_assistant  ANSWER
//     close_assistant_open_user  message  close_user_open_assistant  ANSWER  ...
//
// A template that cannot be used, or none, leaves plain framing: `DOCUMENT\n\nQuestion: ...\nAnswer:`; a warning
// says why. A system prompt stands where the template puts it; where it has no place for one, before the first
// text.
//
// Control pieces that the template prints become their ids; the same spelling in a user's text or a system prompt
// stays text. BOS comes once, if the model says so or the template prints it. Text after the first of a stream is
// encoded without dummy prefix, except where the template has a space there. Models that think before they answer
// are asked not to, if their template knows `enable_thinking`.
#pragma once

#include <chrono>
#include <string>
#include <string_view>
#include <vector>

#include "engine/text/bpe/added_tokens.h"
#include "engine/text/tokenizer.h"

namespace palimpsest::engine {

struct FramingOptions {
    std::string system{};         // the system prompt; empty: none but the template's own
    std::chrono::sys_days date{}; // that templates print as today's
    bool plain = false;           // without the model's template
};

class ChatTemplate {
public:
    // The tokenizer must outlive this. Renders the template a few times, within the limits of jinja/meter.h.
    ChatTemplate(const Vocabulary& vocabulary, const Tokenizer& tokenizer, const FramingOptions& options = {});

    // Whether the template asks for the date.
    static bool prints_date(const Vocabulary& vocabulary);

    bool plain() const { return plain_; }
    // "the model's own template", or "plain: " and why.
    std::string description() const;
    const std::string& warning() const { return warning_; } // empty: nothing to say

    // The start of a stream: BOS, the system prompt, and what comes before the user's text.
    std::vector<TokenId> open_user() const;
    // Whether the first text after open_user() takes the dummy prefix (no text comes before it).
    bool document_is_first_text() const { return document_is_first_text_; }
    // Between two documents of one turn: "\n\nTITLE\n\n", without title "\n\n".
    std::vector<TokenId> next_document(std::string_view title) const;
    // A question about the document before it, in the open user turn. Cleaned and normalised, as all user text.
    std::vector<TokenId> question(std::string_view text) const;
    // A whole user turn, without a document before it. `at_start`: open_user() was all that came before.
    std::vector<TokenId> message(std::string_view text, bool at_start) const;
    // The end token that a model generates is not fed: the second of these begins with it.
    std::vector<TokenId> close_user_open_assistant() const;
    std::vector<TokenId> close_assistant_open_user() const;

private:
    struct Part {
        std::string text;
        bool is_users; // no control pieces in it
    };
    struct Turn {
        std::vector<Part> open_user;
        std::string before_question, before_message, close_user, close_assistant;
        bool trims_start = false, trims_end = false;
    };
    void use_template(const Vocabulary& vocabulary, const FramingOptions& options);
    void use_plain(const FramingOptions& options);
    bool yield_space(std::string& text) const;
    bool has_text(std::string_view text) const;
    void read_markers();
    std::vector<TokenId> encode_parts(const std::vector<Part>& parts, bool first_piece) const;
    std::string prepared(std::string_view text) const;
    std::string trimmed(std::string_view text, bool at_start) const;

    const Tokenizer& tokenizer_;
    AddedTokens markers_; // the control pieces, if the model's template is used
    Turn turn_;
    bool plain_ = true;
    bool opens_with_bos_ = false;
    bool document_is_first_text_ = true;
    bool message_takes_prefix_ = false;
    std::string why_plain_, warning_;
};

} // namespace palimpsest::engine
