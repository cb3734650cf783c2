// Copies the rows of a damaged database that can still be reached, table by table.
#pragma once

#include <SQLiteCpp/Database.h>
#include <SQLiteCpp/Exception.h>
#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "storage/database.h"

namespace palimpsest::storage {

// Whether SQLite found damage; all other exceptions concern the machine.
bool is_damage(const SQLite::Exception& failure);

class RowSalvage {
public:
    // `check_stop` is called at every row, and may throw. The arguments must outlive this.
    RowSalvage(SQLite::Database& from, Database& to, const std::function<void()>& check_stop)
        : from_(from), to_(to), check_stop_(check_stop)
    {
    }

    // Copies all rows of a table that can be read, under the same rowids: from both ends up to the damage, and
    // between by the rowids that indexes name or that are near. Left out, because they may be altered, are as few
    // rows as possible so that rowids grow along the table, rows with a value of another type, rows that claim the
    // same place, and rows of which an index says something else (except for tables that SalvageCheck compares
    // itself). Does nothing if the source has no such table. Takes 8 bytes of memory per row.
    void copy(const std::string& table);
    // Whether rows of a table that was copied are known to be missing, or may be because of damage between them.
    bool has_losses(const std::string& table) const { return damaged_tables_.contains(table); }

    struct IndexEntry {
        std::string value;
        int64_t row = 0;
    };
    // What an index says of its table: `column`, which it covers, and the rowid. What cannot be read is left out.
    std::vector<IndexEntry> entries(const std::string& table, const std::string& index, const std::string& column);

private:
    struct Table;
    struct Order;
    Table table_of(const std::string& name);
    Order order_of(const Table& table);
    size_t most_rows(); // that the file has room for
    // Appends the rowids along a table; returns false if there is damage before its end.
    bool append_rowids(const Table& table, const char* order, std::vector<int64_t>& rows);
    void read_rows(const Table& table, std::set<int64_t> rows);
    void probe(const Table& table, const std::set<int64_t>& rows);
    std::set<int64_t> rows_between(const Table& table, const Order& order);
    void keep(const Table& table, SQLite::Statement& row);
    void contest(const Table& table, SQLite::Statement& row);
    void compare_with_index(const Table& table, const std::string& index);
    void remove_contested(const Table& table);
    // Calls `take` for every entry: the rowid, then `columns`.
    void each_entry(const std::string& table, const std::string& index, const std::string& columns,
                    const std::function<void(SQLite::Statement&)>& take);
    void commit_when_large(size_t bytes);

    SQLite::Database& from_;
    Database& to_;
    const std::function<void()>& check_stop_;
    std::optional<SQLite::Transaction> piece_;
    size_t piece_bytes_ = 0;
    std::set<int64_t> contested_; // rowids of the table that is copied
    std::set<std::string> damaged_tables_;
};

} // namespace palimpsest::storage
