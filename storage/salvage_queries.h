// Small queries of the checks that follow the rescue of a database.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "storage/database.h"
#include "storage/row_salvage.h"

namespace palimpsest::storage {

// `parameter` is bound to the first parameter. 0 if there is no row.
int64_t number_of(Database& database, const char* sql, int64_t parameter);
std::vector<int64_t> numbers_of(Database& database, const char* sql);
void run_for(Database& database, const std::string& sql, int64_t parameter);

// How many entries have this value.
int64_t count_of(const std::vector<RowSalvage::IndexEntry>& entries, int64_t value);

// The name of what is known by its rowid only: "document-7".
std::string missing_name(const char* what, int64_t id);

inline const std::string most_salvaged_index = "2147483647"; // beyond it, an index is altered

} // namespace palimpsest::storage
