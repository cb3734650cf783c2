#include "app/palimpsest/store.h"

#include "app/palimpsest/common_options.h"

namespace palimpsest::app {

void add_database_option(CLI::App& command, std::string& file)
{
    command.add_option("--db", file, "the session database instead of the user's own [PALIMPSEST_DB]")
        ->envname("PALIMPSEST_DB");
}

CLI::Option* add_session_option(CLI::App& command, std::string& name)
{
    return command.add_option("--session", name, "the session's name");
}

std::unique_ptr<Store> open_store(const std::string& file, storage::Database::Access access)
{
    auto store = std::make_unique<Store>(file.empty() ? data_folder() + "/palimpsest.db" : file, access);
    if (access == storage::Database::Access::Write) {
        store->snapshots.sweep();
        store->library.sweep();
    }
    return store;
}

} // namespace palimpsest::app
