// How turns are framed for a model (architecture.md, Framing).
//
// A document streams into the open user turn; the question follows it after an empty line; then the turn is closed
// and the assistant's opened. No template is interpreted: the source is compared with those of known families
// (reliability.md, G13), and an unknown one falls back to plain framing, with a warning that says so:
//
//     open_user  DOCUMENT  next_document  DOCUMENT  question  close_user_open_assistant  ANSWER
//     close_assistant_open_user  message  close_user_open_assistant  ANSWER  ...
//
// Markers that are pieces of the vocabulary become their ids, other marker text is encoded as text. Text after the
// first of a stream is encoded without dummy prefix, except where the template has a space there. Plain framing is
// `DOCUMENT\n\nQuestion: ...\nAnswer:`.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "engine/text/tokenizer.h"

namespace palimpsest::engine {

class ChatTemplate {
public:
    // The tokenizer must outlive this.
    ChatTemplate(const Vocabulary& vocabulary, const Tokenizer& tokenizer);

    bool plain() const { return plain_; }
    const std::string& name() const { return name_; }       // of the family; "plain"
    const std::string& warning() const { return warning_; } // empty: nothing to say

    // The start of a stream: BOS, if the model says so, and what comes before the user's text.
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
    struct Turn {
        std::string open_user, before_question, before_message, close_user, close_assistant;
    };
    struct Marker {
        size_t begin, size;
        TokenId id;
    };

    bool yield_space(std::string& text) const;
    bool has_text(std::string_view text) const;
    Marker find_marker(std::string_view text) const;
    std::vector<TokenId> encode_markers(std::string_view text, bool first_piece) const;
    std::vector<TokenId> encode_text(std::string_view text, bool first_piece) const;

    const Tokenizer& tokenizer_;
    Turn turn_;
    bool plain_ = true;
    bool document_is_first_text_ = true;
    bool message_takes_prefix_ = false;
    std::string name_, warning_;
};

} // namespace palimpsest::engine
