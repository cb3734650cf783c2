set(CACHE_SOURCES
    cache/fading.cpp
    cache/kv_cache.cpp
    cache/kv_cache_resident.cpp
    cache/page_tables.cpp
    cache/resident_lists.cpp
    cache/retention_map.cpp
    cache/token_list.cpp)
