#include "storage/session/store.h"

#include "kernels/base/error.h"
#include "storage/backup.h"
#include "storage/clock.h"
#include "storage/erasure.h"
#include "storage/left_overs.h"
#include "storage/session/listener.h"
#include "storage/user_folders.h"

namespace palimpsest::storage {
namespace {

// A failed backup is only a notice; it does not block work.
void back_up_today(Store& store)
try {
    store.database.guarded([&] { back_up_daily(store.database.sql(), store.database.file(), today()); });
} catch (const Error& error) {
    store.notices.push_back(Text("no backup was made today: {0}", sentence_of(error)));
}

// If it fails, the next start tries again.
void erase_what_was_deleted(Store& store)
try {
    finish_erasure(store.database);
} catch (const Error& error) {
    store.notices.push_back(Text("what was deleted is not gone for good yet: {0}", sentence_of(error)));
}

} // namespace

std::string database_file(const std::string& given)
{
    return given.empty() ? data_folder() + "/palimpsest.db" : given;
}

std::unique_ptr<Store> open_store(const std::string& file, Database::Access access, const std::stop_token& stop)
{
    CheckLimit limit;
    limit.go_on = [stop] { return !stop.stop_requested(); };
    auto store = std::make_unique<Store>(database_file(file), access, limit);
    if (store->database.check_is_unfinished()) {
        if (stop.stop_requested())
            throw Interrupted{Text("stopped while the sessions were checked; nothing was changed")};
        store->notices.push_back(
            Text("the sessions were not closed in good order, and there was not the time to check all of them: {0}",
                 Step::RunDoctor));
    }
    if (access == Database::Access::Write) {
        store->removed = remove_left_overs(store->database.file());
        store->snapshots.sweep();
        store->library.sweep();
        erase_what_was_deleted(*store);
        back_up_today(*store);
        if (store->database.place() == Database::Place::Network)
            store->notices.push_back(Text("the sessions are on a network file system, which is slower and less "
                                          "safe than a disk of this machine: {0}",
                                          Step::ChooseDatabase));
    }
    return store;
}

} // namespace palimpsest::storage
