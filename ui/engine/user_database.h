// The user's database, opened when it is first needed.
#pragma once

#include <QString>
#include <memory>

#include "storage/session/listener.h"
#include "storage/session/store.h"

namespace palimpsest::ui {

class UserDatabase {
public:
    // `path`: empty for the default. The listener must outlive this.
    UserDatabase(const QString& path, storage::Listener& listener) : path_(path), listener_(listener) {}

    const QString& path() const { return path_; } // called on any thread

    // Called on the engine thread. Throws Error and Interrupted as storage::open_store does.
    storage::Store& store();

private:
    const QString path_;
    storage::Listener& listener_;
    std::unique_ptr<storage::Store> store_; // used by the engine thread only; null until it is needed
};

} // namespace palimpsest::ui
