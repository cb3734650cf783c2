// A private copy of a damaged database, from which SQLite can read as much as possible.
#pragma once

#include <SQLiteCpp/Database.h>
#include <filesystem>
#include <memory>

#include "storage/rescue_progress.h"

namespace palimpsest::storage {

class DamagedCopy {
public:
    // `copy`: of `database` with its log or journal, which its owner removes; it is altered. Asks `progress` while
    // the log becomes part of the copy, and throws Interrupted if that was stopped. The tables are those
    // that the file names; if it names none that are known, those of the newest version, which stand in the same
    // pages. Interior pages of tables that are lost are made anew. Throws Error: Failed (PAL-DB-02) if the file is
    // whole and belongs to another program, (PAL-DB-05) if a newer version wrote it. Throws SQLite::Exception if
    // even the copy with other tables cannot be read, or if the machine has no more memory or space.
    DamagedCopy(const std::filesystem::path& database, std::filesystem::path copy, RescueProgress& progress);

    SQLite::Database& sql() { return *sql_; }

private:
    void open();
    void open_with_known_tables(const std::filesystem::path& database);
    bool has_known_tables(const std::filesystem::path& database);
    bool try_open(const std::filesystem::path& database);
    void replace_first_page() const;
    void add_tables();
    void take_log_in();

    std::filesystem::path place_;
    RescueProgress& progress_;
    std::unique_ptr<SQLite::Database> sql_;
};

} // namespace palimpsest::storage
