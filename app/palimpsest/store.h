// The user's database as the commands use it.
#pragma once

#include <CLI/CLI.hpp>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "storage/conversations.h"
#include "storage/library.h"
#include "storage/settings.h"
#include "storage/snapshots.h"

namespace palimpsest::app {

struct Store {
    Store() : library(database), conversations(database), snapshots(database), settings(database) {} // in memory
    Store(const std::filesystem::path& file, storage::Database::Access access)
        : database(file, access), library(database), conversations(database), snapshots(database),
          settings(database)
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
// `file` empty: the user's own. Writing sweeps away what a crash left behind, and makes the backup of the day.
std::unique_ptr<Store> open_store(const std::string& file, storage::Database::Access access);

} // namespace palimpsest::app
