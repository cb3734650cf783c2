#include "ui/engine/user_database.h"

#include <string>
#include <utility>
#include <vector>

namespace palimpsest::ui {

storage::Store& UserDatabase::store()
{
    if (!store_) {
        store_ = storage::open_store(path_.toStdString(), storage::Database::Access::Write, listener_.stop());
        for (const Text& notice : std::exchange(store_->notices, {}))
            listener_.note(notice);
    }
    return *store_;
}

} // namespace palimpsest::ui
