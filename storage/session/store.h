// The user's open database: documents, conversations, checkpoints and settings.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <set>
#include <stop_token>
#include <string>
#include <vector>

#include "kernels/base/text.h"
#include "storage/backup_files.h"
#include "storage/conversations.h"
#include "storage/library.h"
#include "storage/settings.h"
#include "storage/snapshots.h"

namespace palimpsest::storage {

struct Store {
    Store() : library(database), conversations(database), snapshots(database), settings(database) {} // in memory
    Store(const std::filesystem::path& file, Database::Access access, const CheckLimit& limit)
        : database(file, access, std::nullopt, limit), library(database), conversations(database),
          snapshots(database), settings(database)
    {
    }

    Database database;
    Library library;
    Conversations conversations;
    Snapshots snapshots;
    Settings settings;
    std::vector<Text> notices;       // to be shown to the user
    std::vector<UnusedFile> removed; // what killed rescues and restores had left
    std::set<int64_t> unindexable{}; // documents whose passages could not be indexed since it was opened
};

std::string database_file(const std::string& given); // empty: the default path
// `file`: as for database_file. For Write: checks the database after an unclean shutdown, removes incomplete rows
// and left-overs, makes the daily backup. Throws Interrupted if `stop` is requested during the check.
std::unique_ptr<Store> open_store(const std::string& file, Database::Access access,
                                  const std::stop_token& stop = {});

} // namespace palimpsest::storage
