// One database with three sessions that a program of tests damages again and again.
#pragma once

#include <filesystem>
#include <set>
#include <string>

#include "tests/unit/storage/rescued_content.h"

namespace palimpsest::tests {

inline const ThreeSessions& three()
{
    static const ThreeSessions made;
    return made;
}

// Runs SQL on the database without any of the checks of the program.
inline void alter(const std::filesystem::path& file, const std::string& sql)
{
    SQLite::Database raw(file.string(), SQLite::OPEN_READWRITE);
    raw.exec(sql);
}

// Puts the database in its place, alters it and returns its bytes.
inline std::string damaged_by(const std::string& sql)
{
    three().put(three().original);
    alter(three().database(), sql);
    return bytes_of_file(three().database());
}

// Names of all files and folders around it.
inline std::set<std::string> files()
{
    std::set<std::string> names;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(three().folder()))
        names.insert(entry.path().filename().string());
    return names;
}

} // namespace palimpsest::tests
