// Which sessions lose their checkpoints so that the database fits a size: those used longest ago.
#pragma once

#include <cstdint>
#include <functional>
#include <stop_token>
#include <string>
#include <vector>

#include "storage/session/store.h"

namespace palimpsest::storage {

struct FreedCache {
    int64_t session = 0;
    std::string name{};
    int64_t changed_ms = 0;
    uint64_t bytes = 0; // that the database is smaller by; blocks that a later session shares count there
    uint64_t after = 0; // of the database, once this cache and those before it are gone
};

struct CacheCollection {
    std::vector<FreedCache> caches{}; // in the order in which they are freed
    uint64_t before = 0;              // bytes of the database as it is, with its log and free pages
    uint64_t after = 0;               // bytes once all of `caches` are gone; can exceed what was asked for
};

// Returns what free_caches would do to reach `most` bytes. Changes nothing: removes the checkpoints in a
// transaction that it rolls back, in memory. Throws Interrupted, and Error like Database::transaction.
CacheCollection plan_collection(Store& store, uint64_t most, const std::stop_token& stop);

// REQUIRES: nothing was written since `plan` was made. `freed` is called after each session, `returned` with the
// percentage of free pages that were returned to the system. Throws Interrupted, which leaves every session either
// with or without its checkpoints, and Error like Database::transaction.
void free_caches(Store& store, const CacheCollection& plan, const std::stop_token& stop,
                 const std::function<void(const FreedCache&)>& freed, const std::function<void(int)>& returned);

} // namespace palimpsest::storage
