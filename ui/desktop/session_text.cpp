#include "ui/desktop/session_text.h"

#include "engine/text/tokenizer.h"
#include "storage/session/store.h"
#include "storage/session/stored_session.h"

namespace palimpsest::ui {

TokenBytes token_bytes(std::shared_ptr<const engine::Model> model)
{
    if (!model || !model->tokenizer()) return {};
    return [model = std::move(model)](engine::TokenId id) -> const std::string& {
        static const std::string nothing; // for ids of another model's vocabulary
        return id >= 0 && id < model->config().vocabulary ? model->tokenizer()->surface(id) : nothing;
    };
}

std::shared_ptr<const MemoryPages::Texts> texts_of(const storage::StoredSession& session, storage::Store& store,
                                                   const TokenBytes& bytes)
{
    auto texts = std::make_shared<MemoryPages::Texts>();
    uint64_t begin = 0;
    for (const storage::StreamPart& part : session.parts()) {
        if (const auto* document = storage::document_in(part)) {
            PartText& text = (*texts)[begin];
            for (int64_t index = 0;; ++index) {
                const std::string block = store.library.text_block(document->id, index);
                if (block.empty()) break;
                text.text += block;
            }
            text.ends = store.library.token_ends(document->id, 0, document->tokens);
        } else if (const auto* message = storage::message_in(part); message && message->id) {
            if (const auto stored = store.conversations.message(*message->id))
                (*texts)[begin] = message_text(stored->text, stored->ids, bytes);
        }
        begin += tokens_of(part);
    }
    return texts;
}

} // namespace palimpsest::ui
