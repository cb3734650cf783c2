// The framing of turns for a model, as token ids.
//
// A document is fed into the open user turn, followed by an empty line and the question; then the user's turn is
// closed and the assistant's opened. The framing comes from the model's own template (turn_framing.h):
//
//     open_user  DOCUMENT  next_document  DOCUMENT  question  close_user_open_assistant  ANSWER
//     close_assistant_open_user  message  close_user_open_assistant  ANSWER  ...
//
// Passages of documents that are read again before a question are fed like documents:
//
//     close_assistant_open_user  passage  TEXT  passage  TEXT  question  close_user_open_assistant  ANSWER
//
// If the model has no template, or one that cannot be used, plain framing is used instead: `DOCUMENT\n\nQuestion:
// ...\nAnswer:`. For an unusable template, warning() says why. A system prompt goes where the template puts it; if
// the template has no place for it, before the first text.
//
// Control pieces that the template prints become their ids; the same spelling in the user's text or a system prompt
// stays text. BOS is added once, if the model requires it or the template prints it. The first text of a stream
// gets the tokenizer's dummy prefix (a space); later texts get it only where the template prints a space before
// them. Thinking is disabled for models whose template supports `enable_thinking`.
#pragma once

#include <chrono>
#include <string>
#include <string_view>
#include <vector>

#include "engine/text/bpe/added_tokens.h"
#include "engine/text/tokenizer.h"
#include "kernels/base/text.h"

namespace palimpsest::engine {

struct FramingOptions {
    std::string system{};         // the system prompt; empty: none, except the template's own
    std::chrono::sys_days date{}; // for templates that print the current date
    bool plain = false;           // do not use the model's template
};

class ChatTemplate {
public:
    // The tokenizer must outlive this. Renders sample turns, within the limits of jinja/meter.h, to find the
    // text that the template puts around messages.
    ChatTemplate(const Vocabulary& vocabulary, const Tokenizer& tokenizer, const FramingOptions& options = {});

    // Whether the template prints the date.
    static bool prints_date(const Vocabulary& vocabulary);

    bool plain() const { return plain_; }
    // "the model's own template", or "plain: " and the reason.
    Text description() const;
    const Text& warning() const { return warning_; } // empty: none

    // The start of a stream: BOS, the system prompt, and the template's text up to the user's text.
    std::vector<TokenId> open_user() const;
    // Whether the first text after open_user() gets the dummy prefix.
    bool document_is_first_text() const { return document_is_first_text_; }
    // Between two documents of one turn: "\n\nTITLE\n\n", or "\n\n" without a title.
    std::vector<TokenId> next_document(std::string_view title) const;
    // Before a passage of a document that is read again: "[PLACE]" on a line of its own, after an empty line unless
    // it opens the turn.
    std::vector<TokenId> passage(std::string_view place, bool opens_turn) const;
    // A question about the preceding document, in the open user turn. Cleaned and normalised, like all user text.
    std::vector<TokenId> question(std::string_view text) const;
    // A user's message that follows no document. `at_start`: only open_user() precedes it.
    std::vector<TokenId> message(std::string_view text, bool at_start) const;
    // close_assistant_open_user() begins with the end token of the answer, so the generated end token is not fed.
    std::vector<TokenId> close_user_open_assistant() const;
    std::vector<TokenId> close_assistant_open_user() const;

private:
    struct Part {
        std::string text;
        bool is_users; // user text: control pieces in it stay text
    };
    struct Turn {
        std::vector<Part> open_user;
        std::string before_question, before_message, close_user, close_assistant;
        bool trims_start = false, trims_end = false;
    };
    void use_template(const Vocabulary& vocabulary, const FramingOptions& options);
    void use_plain(const FramingOptions& options);
    bool strip_trailing_space(std::string& text) const;
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
    Text why_plain_, warning_;
};

} // namespace palimpsest::engine
