// The framing of a session's stream: the model's chat template with the session's system prompt, and the question
// that is known while its documents are read.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "engine/model/model.h"
#include "engine/text/chat_template.h"
#include "storage/session/framed_turn.h"
#include "storage/session/session_stream.h"

namespace palimpsest::storage {

class SessionFraming {
public:
    // Keeps the model, whose tokenizer it uses even after the session has moved to another device. Throws Error
    // (Failed) for a model without a tokenizer.
    SessionFraming(std::shared_ptr<const engine::Model> model, engine::FramingOptions options,
                   std::string question);

    const engine::ChatTemplate& chat_template() const { return *template_; }
    const engine::Tokenizer& tokenizer() const { return *tokenizer_; }
    const engine::FramingOptions& options() const { return options_; }
    const std::string& system() const { return options_.system; } // empty: no system prompt
    const std::string& question() const { return question_; }     // empty: none
    const std::vector<engine::TokenId>& question_ids() const { return question_ids_; }

    void set_options(engine::FramingOptions options); // unchanged if it throws
    // Chooses plain framing if the stream begins with it; `first`: the ids of its first part. Versions that did not
    // know this model's template used plain framing, and their sessions must keep it.
    void match_beginning(std::vector<engine::TokenId> first);

    // The framing before the stream's next document. A document after an answer opens a turn of its own.
    StreamFraming before_document(const SessionStream& stream, const std::string& title) const;
    FramedTurn turn(const SessionStream& stream, const std::string& message,
                    std::span<const QuotedPassage> passages = {}) const
    {
        return frame_turn(*template_, stream, message, passages);
    }

private:
    void make_template();

    std::shared_ptr<const engine::Model> model_;
    const engine::Tokenizer* tokenizer_;
    engine::FramingOptions options_;
    std::string question_;
    std::unique_ptr<engine::ChatTemplate> template_;
    std::vector<engine::TokenId> question_ids_;
};

} // namespace palimpsest::storage
