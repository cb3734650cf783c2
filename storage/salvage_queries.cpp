#include "storage/salvage_queries.h"

#include <algorithm>

namespace palimpsest::storage {

int64_t number_of(Database& database, const char* sql, int64_t parameter)
{
    auto query = database.statement(sql);
    query.bind(1, parameter);
    return query.executeStep() ? query.getColumn(0).getInt64() : 0;
}

std::vector<int64_t> numbers_of(Database& database, const char* sql)
{
    std::vector<int64_t> all;
    auto query = database.statement(sql);
    while (query.executeStep())
        all.push_back(query.getColumn(0).getInt64());
    return all;
}

void run_for(Database& database, const std::string& sql, int64_t parameter)
{
    auto statement = database.statement(sql.c_str());
    statement.bind(1, parameter);
    statement.exec();
}

int64_t count_of(const std::vector<RowSalvage::IndexEntry>& entries, int64_t value)
{
    return std::count_if(entries.begin(), entries.end(),
                         [text = std::to_string(value)](const auto& entry) { return entry.value == text; });
}

std::string missing_name(const char* what, int64_t id)
{
    return std::string(what) + "-" + std::to_string(id);
}

} // namespace palimpsest::storage
