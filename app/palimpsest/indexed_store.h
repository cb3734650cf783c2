// Opens the database for a search, or for what it lacks.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "storage/session/listener.h"
#include "storage/session/passage_encoder.h"
#include "storage/session/store.h"

namespace palimpsest::app {

// Opens the database to write. If another process writes it, notes at once that it is waited for. `file`, errors
// and Interrupted: as for open_store.
std::unique_ptr<storage::Store> open_to_write(const std::string& file, storage::Listener& listener);

// Opens the database to read. Those of `documents` that lack passages or, with an encoder, embeddings get them
// first, for which it is opened to write; where that is not possible, documents without passages are named to the
// listener and left out, and those without embeddings are named. Throws Interrupted when stopped.
using SearchedDocuments = std::function<std::vector<int64_t>(storage::Store&)>;
std::unique_ptr<storage::Store> open_indexed_store(const std::string& file, const SearchedDocuments& documents,
                                                   storage::PassageEncoder* encoder, storage::Listener& listener);

} // namespace palimpsest::app
