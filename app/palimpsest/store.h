// The user's database as the commands use it.
#pragma once

#include <filesystem>
#include <memory>
#include <stop_token>
#include <string>
#include <vector>

#include "storage/conversations.h"
#include "storage/library.h"
#include "storage/settings.h"
#include "storage/snapshots.h"

namespace CLI {
class App;
class Option;
} // namespace CLI

namespace palimpsest::app {

struct Store {
    Store() : library(database), conversations(database), snapshots(database), settings(database) {} // in memory
    Store(const std::filesystem::path& file, storage::Database::Access access, const storage::CheckLimit& limit)
        : database(file, access, std::nullopt, limit), library(database), conversations(database),
          snapshots(database), settings(database)
    {
    }

    storage::Database database;
    storage::Library library;
    storage::Conversations conversations;
    storage::Snapshots snapshots;
    storage::Settings settings;
    std::vector<std::string> notices; // for whoever opened it
};

void add_database_option(CLI::App& command, std::string& file); // --db, PALIMPSEST_DB
CLI::Option* add_session_option(CLI::App& command, std::string& name);
std::string database_file(const std::string& given); // empty: the user's own
// `file` as above. Writing checks what an unclean stop left, sweeps it away, and makes the backup of the day.
// Throws Interrupted once `stop` is requested during the check.
std::unique_ptr<Store> open_store(const std::string& file, storage::Database::Access access,
                                  std::stop_token stop = {});

} // namespace palimpsest::app
