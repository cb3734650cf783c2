// A folder beside the database, for files that are made from it.
#pragma once

#include <filesystem>

namespace palimpsest::storage {

class WorkFolder {
public:
    // Makes a new folder (0700) with a name that nothing has, after removing those that a killed program left.
    // REQUIRES: the caller holds the OwnerLock. Throws Error (Failed, PAL-DISK-03).
    explicit WorkFolder(const std::filesystem::path& database);
    ~WorkFolder(); // removes it with these two files
    WorkFolder(const WorkFolder&) = delete;
    WorkFolder& operator=(const WorkFolder&) = delete;

    std::filesystem::path damaged() const; // a copy of the database
    std::filesystem::path made() const;    // a new database

private:
    std::filesystem::path folder_;
};

} // namespace palimpsest::storage
