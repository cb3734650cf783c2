// Opens the database for a search.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "storage/session/listener.h"
#include "storage/session/store.h"

namespace palimpsest::app {

// Opens the database to read. Those of `documents` that lack passages are indexed first, for which it is opened to
// write; where that is not possible, they are named to the listener and left out. Throws Interrupted when stopped.
using SearchedDocuments = std::function<std::vector<int64_t>(storage::Store&)>;
std::unique_ptr<storage::Store> open_indexed_store(const std::string& file, const SearchedDocuments& documents,
                                                   storage::Listener& listener);

} // namespace palimpsest::app
