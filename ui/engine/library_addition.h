// Adds files and folders to the library, and words what came of it. Used by the engine thread.
#pragma once

#include <QString>
#include <QStringList>
#include <functional>
#include <memory>

#include "engine/model/model.h"
#include "storage/session/listener.h"
#include "storage/session/store.h"

namespace palimpsest::ui {

// Returns a sentence: how many documents were added, were there before, or could not be read, and why the first of
// these. `progress`: called after each file with the share that is done, and whether it was added. Throws Error
// (NotFound) if there is no document in the folders, and as LibraryAddition::add; what was added before stays.
QString add_to_library(storage::Store& store, const std::shared_ptr<const engine::Model>& model,
                       storage::Listener& listener, const QStringList& paths,
                       const std::function<void(double share, bool is_new)>& progress);

} // namespace palimpsest::ui
