// The open session's stream as text for the window: from the database through a connection of its own, or from
// memory where nothing is saved.
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

// The bytes of a token as this model has them; the model is kept alive.
TokenBytes token_bytes(std::shared_ptr<const engine::Model> model);

// All text of an unsaved session. On the engine's thread; copies it.
std::shared_ptr<const MemoryPages::Texts> texts_of(const storage::StoredSession& session, storage::Store& store,
                                                   const TokenBytes& bytes);

} // namespace palimpsest::ui
