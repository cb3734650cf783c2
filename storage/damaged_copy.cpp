#include "storage/damaged_copy.h"

#include <SQLiteCpp/Statement.h>
#include <algorithm>
#include <array>
#include <cerrno>
#include <fstream>
#include <sqlite3.h>
#include <string>
#include <utility>

#include "kernels/base/error.h"
#include "storage/disk_full.h"
#include "storage/interior_pages.h"
#include "storage/interruptible_file.h"
#include "storage/known_pages.h"
#include "storage/schema.h"

namespace palimpsest::storage {
namespace {

namespace fs = std::filesystem;

constexpr uint32_t page_bytes = 8192; // of every Palimpsest database
using PageBytes = std::array<char, page_bytes>;

// A new database in memory with pages as those of a file.
SQLite::Database new_database(const char* auto_vacuum)
{
    SQLite::Database made(":memory:", SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE);
    made.exec("PRAGMA page_size = " + std::to_string(page_bytes) + "; PRAGMA auto_vacuum = " + auto_vacuum);
    return made;
}

// Puts a number into a page as SQLite stores it: big-endian.
void put(PageBytes& page, size_t at, uint32_t value)
{
    for (size_t i = 0; i < 4; ++i)
        page[at + i] = static_cast<char>(value >> (24 - 8 * i));
}

// The first page of a database without tables that has so many pages, all of them in use
// (https://sqlite.org/fileformat2.html, "The Database Header"). Without auto-vacuum, SQLite adds pages at its end
// only.
PageBytes first_page(uint32_t pages)
{
    SQLite::Database made = new_database("NONE");
    made.exec("PRAGMA application_id = " + std::to_string(application_id));
    made.exec("PRAGMA user_version = " + std::to_string(schema_version));
    sqlite3_int64 size = 0;
    unsigned char* bytes = sqlite3_serialize(made.getHandle(), "main", &size, 0);
    PageBytes page{};
    if (bytes && size >= page_bytes) std::copy_n(reinterpret_cast<const char*>(bytes), page_bytes, page.begin());
    sqlite3_free(bytes);
    constexpr size_t pages_at = 28;
    put(page, pages_at, pages);
    return page;
}

// The tables of the newest version. In a database that can be vacuumed step by step, they begin in the first pages,
// in the order in which they were made.
SQLite::Database known_tables()
{
    SQLite::Database known = new_database("INCREMENTAL");
    migrate(known);
    return known;
}

uintmax_t pages_of_tables()
{
    return static_cast<uintmax_t>(known_tables().execAndGet("PRAGMA page_count").getInt64());
}

[[noreturn]] void refuse_database(const fs::path& database, ErrorCode code, const Text& what, const Text& remedy)
{
    throw Error(ErrorKind::Failed, code, Text::escaped(database.string()), what, remedy);
}

// Whether there are tables, and at most one of them has a name of ours.
bool has_foreign_tables(SQLite::Database& db)
{
    constexpr const char* ours = "SELECT count(*) > 0 AND sum(name IN ('documents', 'document_blocks', 'sessions', "
                                 "'messages', 'stream', 'snapshots', 'snapshot_blocks')) < 2 FROM sqlite_schema "
                                 "WHERE type = 'table'";
    return db.execAndGet(ours).getInt() != 0;
}

} // namespace

DamagedCopy::DamagedCopy(const fs::path& database, fs::path copy, RescueProgress& progress)
    : place_(std::move(copy)), progress_(progress)
{
    open_with_known_tables(database);
    sql_.reset();
    rebuild_interior_pages(place_);
    open();
}

void DamagedCopy::open_with_known_tables(const fs::path& database)
{
    if (try_open(database)) return;
    // The log may have the tables, if the first page does not hide them.
    replace_first_page();
    if (try_open(database)) return;
    replace_first_page();
    open();
    add_tables();
}

void DamagedCopy::open()
{
    sql_.reset();
    sql_ = std::make_unique<SQLite::Database>(place_.string(), SQLite::OPEN_READWRITE | SQLITE_OPEN_NOFOLLOW |
                                                                   SQLITE_OPEN_EXRESCODE);
    sql_->exec("PRAGMA trusted_schema = OFF; PRAGMA cell_size_check = ON; PRAGMA mmap_size = 0; PRAGMA "
               "temp_store = MEMORY; PRAGMA synchronous = OFF");
    sqlite3_limit(sql_->getHandle(), SQLITE_LIMIT_LENGTH, 32 << 20);
}

// Opens the copy with its log, which then becomes part of it.
bool DamagedCopy::try_open(const fs::path& database)
try {
    open();
    take_log_in();
    return has_known_tables(database);
} catch (const SQLite::Exception& failure) {
    if (concerns_machine(failure)) throw;
    sql_.reset();
    return false;
}

void DamagedCopy::take_log_in()
{
    const std::function<bool()> go_on = [&] { return progress_.goes_on(); };
    const InterruptibleFile questioned(*sql_, go_on);
    sql_->tryExec("PRAGMA wal_checkpoint(TRUNCATE)");
    if (!questioned.was_stopped()) return;
    sqlite3_db_config(sql_->getHandle(), SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, nullptr);
    progress_.check_stop();
}

bool DamagedCopy::has_known_tables(const fs::path& database)
{
    if (find_known_version(*sql_)) return true; // a number alone that is damaged does not matter
    const int version = sql_->execAndGet("PRAGMA user_version").getInt();
    const bool is_ours = sql_->execAndGet("PRAGMA application_id").getInt() == application_id;
    if (is_ours && version > schema_version)
        refuse_database(database, ErrorCode::NewerDatabase, Text("it was written by a newer version of Palimpsest"),
                        Text("update Palimpsest, or {0}", Step::ChooseDatabase));
    if (!is_ours && has_foreign_tables(*sql_) && !has_known_pages(database))
        refuse_database(database, ErrorCode::NotADatabase, Text("it is not a Palimpsest database"),
                        Text("it was left as it is; {0}", Step::ChooseDatabase));
    return false;
}

void DamagedCopy::replace_first_page() const
{
    const uintmax_t pages = std::max<uintmax_t>(pages_of_tables(), fs::file_size(place_) / page_bytes);
    fs::resize_file(place_, pages * page_bytes);
    const PageBytes page = first_page(static_cast<uint32_t>(pages));
    std::fstream file(place_, std::ios::binary | std::ios::in | std::ios::out);
    if (!file.write(page.data(), page.size()).flush())
        throw fs::filesystem_error("write", place_, {errno, std::generic_category()});
}

void DamagedCopy::add_tables()
{
    SQLite::Database known = known_tables();
    sql_->exec("PRAGMA journal_mode = MEMORY");
    sqlite3_db_config(sql_->getHandle(), SQLITE_DBCONFIG_DEFENSIVE, 0, nullptr);
    sql_->exec("PRAGMA writable_schema = ON");
    SQLite::Statement table(known, "SELECT type, name, tbl_name, rootpage, sql FROM sqlite_schema ORDER BY rowid");
    while (table.executeStep()) {
        SQLite::Statement add(*sql_, "INSERT INTO sqlite_schema(type, name, tbl_name, rootpage, sql) "
                                     "VALUES(?, ?, ?, ?, ?)");
        for (int i = 0; i < 3; ++i)
            add.bind(i + 1, table.getColumn(i).getString());
        add.bind(4, table.getColumn(3).getInt64());
        if (table.isColumnNull(4))
            add.bind(5);
        else
            add.bind(5, table.getColumn(4).getString());
        add.exec();
    }
}

} // namespace palimpsest::storage
