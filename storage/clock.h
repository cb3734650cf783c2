// UTC time, only for display and the names of backups: rows are ordered by their ids.
#pragma once

#include <chrono>
#include <cstdint>

namespace palimpsest::storage {

inline int64_t now_ms()
{
    using namespace std::chrono;
    return duration_cast<milliseconds>(system_clock::now().time_since_epoch()).count();
}

inline std::chrono::sys_days today()
{
    return std::chrono::floor<std::chrono::days>(std::chrono::system_clock::now());
}

} // namespace palimpsest::storage
