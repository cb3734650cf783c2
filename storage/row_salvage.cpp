#include "storage/row_salvage.h"

#include <algorithm>
#include <iterator>
#include <limits>
#include <sqlite3.h>
#include <utility>

namespace palimpsest::storage {
namespace {

constexpr int64_t most_probed_rows = 1 << 16; // on each side of a gap
constexpr size_t most_bytes_at_once = 16 << 20;
constexpr size_t most_rows_per_page = 8192 / 6; // a row takes two bytes of the page's list and four of its own

// SalvageCheck has further witnesses for these, or their content has a checksum that covers their place.
constexpr const char* compared_later[] = {"messages", "sessions", "documents", "blocks", "snapshot_blocks"};

int primary_code(const SQLite::Exception& failure)
{
    return failure.getErrorCode() & 0xFF;
}

void bind_value(SQLite::Statement& statement, int place, const SQLite::Column& value)
{
    if (value.isNull())
        statement.bind(place);
    else if (value.isInteger())
        statement.bind(place, value.getInt64());
    else if (value.isFloat())
        statement.bind(place, value.getDouble());
    else if (value.isText())
        statement.bind(place, value.getString());
    else
        statement.bind(place, value.getBytes() ? value.getBlob() : "", value.getBytes());
}

void bind_values(SQLite::Statement& statement, SQLite::Statement& row)
{
    for (int i = 0; i < row.getColumnCount(); ++i)
        bind_value(statement, i + 1, row.getColumn(i));
}

// Tables are strict, so that a value of another type is another table's. Inserting it would convert it.
bool has_types(SQLite::Statement& row, const std::vector<std::string>& types)
{
    for (size_t i = 0; i < types.size(); ++i) {
        const SQLite::Column value = row.getColumn(static_cast<int>(i) + 1);
        const std::string& type = types[i];
        const bool is_other = (type == "INTEGER" && !value.isInteger()) || (type == "TEXT" && !value.isText()) ||
                              (type == "BLOB" && !value.isBlob()) || (type == "REAL" && !value.isFloat());
        if (is_other && !value.isNull()) return false;
    }
    return true;
}

size_t bytes_of(SQLite::Statement& row)
{
    size_t bytes = 0;
    for (int i = 0; i < row.getColumnCount(); ++i)
        bytes += static_cast<size_t>(row.getColumn(i).getBytes());
    return bytes;
}

std::vector<std::string> names_in(SQLite::Database& db, const char* sql, const std::string& of)
try {
    std::vector<std::string> all;
    SQLite::Statement query(db, sql);
    query.bind(1, of);
    while (query.executeStep())
        all.push_back(query.getColumn(0).getString());
    return all;
} catch (const SQLite::Exception& failure) {
    if (!is_damage(failure)) throw;
    return {};
}

constexpr const char* indexes_of = "SELECT name FROM pragma_index_list(?)";
constexpr const char* columns_of_index = "SELECT name FROM pragma_index_info(?)";

// Places of the longest sequence of numbers that grow; of several, the one with the smallest last number.
std::vector<size_t> longest_growing(const std::vector<int64_t>& numbers)
{
    std::vector<size_t> ends; // by length - 1: where the sequence with the smallest last number ends
    std::vector<size_t> before(numbers.size());
    for (size_t i = 0; i < numbers.size(); ++i) {
        const auto place = std::lower_bound(ends.begin(), ends.end(), numbers[i],
                                            [&](size_t end, int64_t number) { return numbers[end] < number; });
        before[i] = place == ends.begin() ? i : *std::prev(place);
        if (place == ends.end())
            ends.push_back(i);
        else
            *place = i;
    }
    std::vector<size_t> places(ends.size());
    size_t at = ends.empty() ? 0 : ends.back();
    for (auto place = places.rbegin(); place != places.rend(); ++place) {
        *place = at;
        at = before[at];
    }
    return places;
}

} // namespace

struct RowSalvage::Table {
    std::string name, select, insert;
    std::vector<std::string> types; // of its columns, from the second: the first is the rowid
    std::string find_same;          // a row with the values of another one
    struct UniqueIndex {
        std::string find;        // the rows with its values
        std::vector<int> places; // of its columns in a row
    };
    std::vector<UniqueIndex> unique_indexes;
};

// The rows along a table.
struct RowSalvage::Order {
    std::set<int64_t> rows;           // that grow
    std::optional<int64_t> low, high; // the last one before damage and the first one behind it
    bool is_whole = false, has_displaced = false;
};

// A page that is not in the file reads as one that is too short.
bool is_damage(const SQLite::Exception& failure)
{
    const int code = primary_code(failure);
    return code == SQLITE_CORRUPT || code == SQLITE_NOTADB || code == SQLITE_TOOBIG || code == SQLITE_ERROR ||
           failure.getExtendedErrorCode() == SQLITE_IOERR_SHORT_READ;
}

RowSalvage::Table RowSalvage::table_of(const std::string& name)
{
    const char* columns_of = "SELECT name FROM pragma_table_info(?) WHERE NOT (pk = 1 AND type = 'INTEGER' AND "
                             "(SELECT max(pk) FROM pragma_table_info(?1)) = 1)";
    const auto there = names_in(from_, columns_of, name);
    Table table{.name = name, .select = {}, .insert = {}, .types = {}, .find_same = {}, .unique_indexes = {}};
    if (there.empty()) return table;
    std::vector<std::string> columns{"rowid"};
    for (const std::string& column : names_in(to_.sql(), columns_of, name)) {
        if (!std::count(there.begin(), there.end(), column)) continue;
        columns.push_back(column);
        SQLite::Statement type(to_.sql(), "SELECT type FROM pragma_table_info(?) WHERE name = ?");
        type.bind(1, name);
        type.bind(2, column);
        if (type.executeStep()) table.types.push_back(type.getColumn(0).getString());
    }
    std::string list, places, same;
    for (const std::string& column : columns) {
        list.append(list.empty() ? "" : ", ").append(column);
        places.append(places.empty() ? "?" : ", ?");
        same.append(same.empty() ? "" : " AND ").append(column).append(" IS ?");
    }
    table.select = "SELECT " + list + " FROM main." + name + " NOT INDEXED WHERE ";
    table.insert = "INSERT INTO " + name + "(" + list + ") VALUES(" + places + ")";
    table.find_same = "SELECT 1 FROM " + name + " WHERE " + same;
    for (const std::string& index :
         names_in(to_.sql(), "SELECT name FROM pragma_index_list(?) WHERE \"unique\" = 1", name)) {
        Table::UniqueIndex unique{.find = "SELECT rowid FROM " + name + " WHERE ", .places = {}};
        const auto keys = names_in(to_.sql(), columns_of_index, index);
        for (const std::string& key : keys) {
            const auto column = std::find(columns.begin(), columns.end(), key);
            if (column == columns.end()) break;
            unique.find.append(unique.places.empty() ? "" : " AND ").append(key).append(" = ?");
            unique.places.push_back(static_cast<int>(column - columns.begin()));
        }
        if (unique.places.size() == keys.size()) table.unique_indexes.push_back(std::move(unique));
    }
    return table;
}

void RowSalvage::copy(const std::string& name)
{
    const Table table = table_of(name);
    if (table.select.empty()) return;
    piece_.emplace(to_.sql(), SQLite::TransactionBehavior::IMMEDIATE);
    piece_bytes_ = 0;
    contested_.clear();
    const Order order = order_of(table);
    if (!order.is_whole || order.has_displaced) damaged_tables_.insert(name);
    read_rows(table, order.rows);
    if (!order.is_whole) probe(table, rows_between(table, order));
    if (std::find(std::begin(compared_later), std::end(compared_later), name) == std::end(compared_later))
        for (const std::string& index : names_in(from_, indexes_of, name))
            compare_with_index(table, index);
    remove_contested(table);
    piece_->commit();
    piece_.reset();
}

// A rowid that was altered is out of order, and so are two pages that were swapped: the rows around them are not.
RowSalvage::Order RowSalvage::order_of(const Table& table)
{
    Order order;
    std::vector<int64_t> rows, backwards;
    order.is_whole = append_rowids(table, "", rows);
    const size_t before_damage = rows.size();
    if (!order.is_whole) append_rowids(table, " DESC", backwards);
    rows.insert(rows.end(), backwards.rbegin(), backwards.rend());
    const auto places = longest_growing(rows);
    order.has_displaced = places.size() < rows.size();
    for (const size_t place : places) {
        order.rows.insert(rows[place]);
        if (place < before_damage)
            order.low = rows[place];
        else if (!order.high)
            order.high = rows[place];
    }
    return order;
}

// Pages that are linked in a circle end as damage, because SQLite goes no more than twenty pages deep; pages that
// are linked several times end at the bound.
bool RowSalvage::append_rowids(const Table& table, const char* order, std::vector<int64_t>& rows)
try {
    const size_t most = most_rows();
    SQLite::Statement read(from_, "SELECT rowid FROM main." + table.name + " NOT INDEXED ORDER BY rowid" + order);
    while (rows.size() < most && read.executeStep()) {
        check_stop_();
        rows.push_back(read.getColumn(0).getInt64());
    }
    return read.isDone();
} catch (const SQLite::Exception& failure) {
    if (!is_damage(failure)) throw;
    return false;
}

size_t RowSalvage::most_rows()
{
    return static_cast<size_t>(from_.execAndGet("PRAGMA page_count").getInt64()) * most_rows_per_page;
}

// Goes on behind each row that cannot be read, and looks for what was not met by its rowid.
void RowSalvage::read_rows(const Table& table, std::set<int64_t> rows)
{
    std::set<int64_t> not_read;
    size_t left = 2 * most_rows(); // pages that are linked several times give more
    std::optional<int64_t> next = rows.empty() ? std::nullopt : std::optional(*rows.begin());
    while (next) {
        const int64_t first = *next;
        std::optional<int64_t> reached;
        next.reset();
        try {
            SQLite::Statement read(from_, table.select + "rowid >= ? ORDER BY rowid");
            read.bind(1, first);
            while (!rows.empty() && left > 0 && read.executeStep()) {
                --left;
                check_stop_();
                const int64_t row = read.getColumn(0).getInt64();
                if (!rows.contains(row)) continue;
                keep(table, read);
                rows.erase(row);
                reached = row;
            }
        } catch (const SQLite::Exception& failure) {
            if (!is_damage(failure)) throw;
            const auto damaged = reached ? rows.upper_bound(*reached) : rows.lower_bound(first);
            if (damaged == rows.end()) break;
            const auto behind = std::next(damaged);
            if (behind != rows.end()) next = *behind;
            not_read.insert(*damaged);
            rows.erase(damaged);
        }
    }
    not_read.merge(rows);
    if (not_read.empty()) return;
    damaged_tables_.insert(table.name);
    probe(table, not_read);
}

void RowSalvage::probe(const Table& table, const std::set<int64_t>& rows)
try {
    SQLite::Statement read(from_, table.select + "rowid = ?");
    for (const int64_t row : rows) {
        check_stop_();
        read.bind(1, row);
        try {
            if (read.executeStep() && read.getColumn(0).getInt64() == row) keep(table, read);
        } catch (const SQLite::Exception& failure) {
            if (!is_damage(failure)) throw;
        }
        read.tryReset();
    }
} catch (const SQLite::Exception& failure) {
    if (!is_damage(failure)) throw;
}

std::set<int64_t> RowSalvage::rows_between(const Table& table, const Order& order)
{
    std::set<int64_t> rows;
    const auto [low, high] = std::pair(order.low, order.high);
    const int64_t end = high.value_or(std::numeric_limits<int64_t>::max());
    if (low && *low == end) return rows;
    const int64_t first = low ? *low + 1 : 1;
    for (const std::string& index : names_in(from_, indexes_of, table.name))
        for (const IndexEntry& entry : entries(table.name, index, "rowid"))
            if (entry.row >= first && entry.row < end) rows.insert(entry.row);
    if (!low && !high) return rows; // the way to every row is damaged
    for (int64_t row = first, count = 0; row < end && count < most_probed_rows; ++row, ++count)
        rows.insert(row);
    for (int64_t row = end, count = 0; high && row > first && count < most_probed_rows; ++count)
        rows.insert(--row);
    return rows;
}

void RowSalvage::keep(const Table& table, SQLite::Statement& row)
{
    check_stop_();
    if (!has_types(row, table.types)) return damaged_tables_.insert(table.name), void();
    SQLite::Statement write(to_.sql(), table.insert);
    bind_values(write, row);
    const int result = write.tryExecuteStep();
    if (result == SQLITE_CONSTRAINT_UNIQUE || result == SQLITE_CONSTRAINT_PRIMARYKEY ||
        result == SQLITE_CONSTRAINT_ROWID)
        return contest(table, row);
    if ((result & 0xFF) == SQLITE_CONSTRAINT) // not a value that such a row can have
        return damaged_tables_.insert(table.name), void();
    if (result != SQLITE_DONE) throw SQLite::Exception(to_.sql().getHandle(), result);
    commit_when_large(bytes_of(row));
}

// The rows that have the place already stay until all rows are copied, so that a third one finds it taken, too.
void RowSalvage::contest(const Table& table, SQLite::Statement& row)
{
    SQLite::Statement same(to_.sql(), table.find_same);
    bind_values(same, row);
    if (same.executeStep()) return; // a page that is there twice
    contested_.insert(row.getColumn(0).getInt64());
    for (const Table::UniqueIndex& index : table.unique_indexes) {
        SQLite::Statement find(to_.sql(), index.find);
        for (size_t i = 0; i < index.places.size(); ++i)
            bind_value(find, static_cast<int>(i) + 1, row.getColumn(index.places[i]));
        while (find.executeStep())
            contested_.insert(find.getColumn(0).getInt64());
    }
}

void RowSalvage::compare_with_index(const Table& table, const std::string& index)
{
    std::string columns, equal;
    for (const std::string& column : names_in(from_, columns_of_index, index)) {
        columns.append(columns.empty() ? "" : ", ").append(column);
        equal.append(equal.empty() ? "" : " AND ").append(column).append(" IS ?");
    }
    if (columns.empty()) return;
    SQLite::Statement row(to_.sql(), "SELECT " + equal + " FROM " + table.name + " WHERE rowid = ?");
    each_entry(table.name, index, columns, [&](SQLite::Statement& entry) {
        const int count = entry.getColumnCount();
        for (int i = 1; i < count; ++i)
            bind_value(row, i, entry.getColumn(i));
        const int64_t named = entry.getColumn(0).getInt64();
        row.bind(count, named);
        if (!row.executeStep())
            damaged_tables_.insert(table.name);
        else if (row.getColumn(0).getInt() == 0)
            contested_.insert(named);
        row.reset();
    });
}

void RowSalvage::remove_contested(const Table& table)
{
    if (contested_.empty()) return;
    damaged_tables_.insert(table.name);
    SQLite::Statement remove(to_.sql(), "DELETE FROM " + table.name + " WHERE rowid = ?");
    for (const int64_t row : contested_) {
        remove.bind(1, row);
        remove.exec();
        remove.reset();
    }
}

void RowSalvage::commit_when_large(size_t bytes)
{
    piece_bytes_ += bytes;
    if (piece_bytes_ < most_bytes_at_once) return;
    piece_->commit();
    piece_.emplace(to_.sql(), SQLite::TransactionBehavior::IMMEDIATE);
    piece_bytes_ = 0;
}

std::vector<RowSalvage::IndexEntry> RowSalvage::entries(const std::string& table, const std::string& index,
                                                        const std::string& column)
{
    std::vector<IndexEntry> all;
    each_entry(table, index, column, [&](SQLite::Statement& entry) {
        all.push_back({entry.getColumn(1).getString(), entry.getColumn(0).getInt64()});
    });
    return all;
}

void RowSalvage::each_entry(const std::string& table, const std::string& index, const std::string& columns,
                            const std::function<void(SQLite::Statement&)>& take)
{
    const std::string select = "SELECT rowid, " + columns + " FROM main." + table + " INDEXED BY " + index;
    std::string descending;
    for (const std::string& key : names_in(from_, columns_of_index, index))
        descending.append(descending.empty() ? " ORDER BY " : ", ").append(key).append(" DESC");
    std::set<int64_t> taken; // in both directions: damage may be behind both of them
    for (const std::string& order : {std::string(), descending}) {
        std::set<int64_t> seen;
        try {
            SQLite::Statement read(from_, select + order);
            while (read.executeStep()) {
                check_stop_();
                const int64_t row = read.getColumn(0).getInt64();
                if (!seen.insert(row).second) break; // linked in a circle
                if (taken.insert(row).second) take(read);
            }
            if (read.isDone()) break;
        } catch (const SQLite::Exception& failure) {
            if (!is_damage(failure)) throw;
        }
    }
}

} // namespace palimpsest::storage
