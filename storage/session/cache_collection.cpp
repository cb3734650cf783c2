#include "storage/session/cache_collection.h"

#include <algorithm>

#include "storage/interrupted.h"

namespace palimpsest::storage {
namespace {

uint64_t pragma(Database& database, const char* name)
{
    return static_cast<uint64_t>(database.sql().execAndGet(name).getInt64());
}

// Size of the file once its free pages are returned. Page 2 and every so-many-th page after it map the pages behind
// them, and the page at 1 GiB is never used (sqlite.org/fileformat2.html, "Pointer Map" and "The Lock-Byte Page").
uint64_t bytes_without_free_pages(Database& database)
{
    const uint64_t page = pragma(database, "PRAGMA page_size"), all = pragma(database, "PRAGMA page_count");
    const uint64_t group = page / 5 + 1, lock_page = (1u << 30) / page + 1;
    const auto without_content = [&](uint64_t pages) {
        return (pages < 2 ? 0 : (pages - 2) / group + 1) + (pages >= lock_page ? 1 : 0);
    };
    const uint64_t content = all - pragma(database, "PRAGMA freelist_count") - without_content(all);
    uint64_t pages = content;
    while (pages < content + without_content(pages))
        pages = content + without_content(pages);
    return pages * page;
}

class NothingSpilled { // during its lifetime, changed pages of a transaction stay in memory
public:
    explicit NothingSpilled(Database& database) : database_(database)
    {
        database_.sql().exec("PRAGMA cache_spill = OFF");
    }
    ~NothingSpilled() { database_.sql().tryExec("PRAGMA cache_spill = ON"); }
    NothingSpilled(const NothingSpilled&) = delete;
    NothingSpilled& operator=(const NothingSpilled&) = delete;

private:
    Database& database_;
};

} // namespace

CacheCollection plan_collection(Store& store, uint64_t most, const std::stop_token& stop)
{
    return store.database.guarded([&] {
        const auto sessions = store.conversations.list();
        const NothingSpilled in_memory(store.database);
        const SQLite::Transaction undone(store.database.sql(), SQLite::TransactionBehavior::IMMEDIATE);
        CacheCollection plan{.before = store.database.file_bytes(),
                             .after = bytes_without_free_pages(store.database)};
        for (auto oldest = sessions.rbegin(); oldest != sessions.rend() && plan.after > most; ++oldest) {
            if (stop.stop_requested()) throw Interrupted{Text("stopped; nothing was changed")};
            if (store.snapshots.of(oldest->id).empty()) continue;
            store.snapshots.remove_all(oldest->id);
            const uint64_t before = plan.after;
            plan.after = bytes_without_free_pages(store.database);
            plan.caches.push_back({.session = oldest->id,
                                   .name = oldest->name,
                                   .changed_ms = oldest->changed_ms,
                                   .bytes = before - plan.after,
                                   .after = plan.after});
        }
        return plan;
    });
}

void free_caches(Store& store, const CacheCollection& plan, const std::stop_token& stop,
                 const std::function<void(const FreedCache&)>& freed, const std::function<void(int)>& returned)
{
    size_t done = 0;
    const auto stop_if_requested = [&] {
        if (stop.stop_requested())
            throw Interrupted{
                Text("stopped after {0} of {1} sessions; give it again for the rest", done, plan.caches.size())};
    };
    for (const FreedCache& cache : plan.caches) {
        stop_if_requested();
        store.snapshots.remove_all(cache.session);
        ++done;
        freed(cache);
    }
    store.database.shrink([&](int percent) {
        stop_if_requested();
        returned(percent);
    });
}

} // namespace palimpsest::storage
