// A folder beside the database, for files that are made from it.
#pragma once

#include <filesystem>
#include <vector>

namespace palimpsest::storage {

class WorkFolder {
public:
    // Makes a new folder (0700) with a name that nothing has. Throws Error: Failed (PAL-DISK-03), or Resources
    // (PAL-DISK-01) if the disk is full.
    explicit WorkFolder(const std::filesystem::path& database);
    ~WorkFolder(); // removes it with these two files
    WorkFolder(const WorkFolder&) = delete;
    WorkFolder& operator=(const WorkFolder&) = delete;

    // Those of a database, also of other processes: by their name, and only if nothing is in them that a rescue
    // does not make. `database`: an absolute path.
    static std::vector<std::filesystem::path> all_of(const std::filesystem::path& database);
    // Removes the two files, with what SQLite has beside them, and the folder.
    static void remove(const std::filesystem::path& folder);

    const std::filesystem::path& path() const { return folder_; }
    std::filesystem::path damaged() const; // a copy of the database
    std::filesystem::path made() const;    // a new database

private:
    std::filesystem::path folder_;
};

} // namespace palimpsest::storage
