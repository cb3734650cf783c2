// The text of the open session's stream for the window: read from the database through a separate connection, or
// copied from memory if the session is not saved.
#pragma once

#include <memory>

#include "engine/model/model.h"
#include "ui/document/page_readers.h"
#include "ui/document/text_source.h"

namespace palimpsest::storage {
class StoredSession;
struct Store;
} // namespace palimpsest::storage

namespace palimpsest::ui {

// Returns a function from a token's id to its bytes, which keeps the model alive; empty without a tokenizer.
TokenBytes token_bytes(std::shared_ptr<const engine::Model> model);

// Copies the whole text of an unsaved session. Call on the engine thread.
std::shared_ptr<const MemoryPages::Texts> texts_of(const storage::StoredSession& session, storage::Store& store,
                                                   const TokenBytes& bytes);

} // namespace palimpsest::ui
