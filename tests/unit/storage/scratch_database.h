// A database in its own temporary folder, which the destructor removes.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <functional>
#include <stdexcept>
#include <string>

#include "kernels/base/error.h"
#include "storage/database.h"

namespace palimpsest::tests {

// Returns the code of the Error that `work` throws, such as "PAL-DB-01"; empty if it throws none.
inline std::string refusal(const std::function<void()>& work)
{
    try {
        work();
    } catch (const Error& error) {
        return std::string(name_of(error.code()));
    }
    return "";
}

class ScratchDatabase {
public:
    explicit ScratchDatabase(const std::filesystem::path& parent = std::filesystem::temp_directory_path())
    {
        std::string name = (parent / "palimpsest-test-XXXXXX").string();
        if (!mkdtemp(name.data())) throw std::runtime_error("no temporary folder");
        folder_ = name;
        open();
    }
    ~ScratchDatabase()
    {
        database_.reset();
        std::error_code ignored;
        std::filesystem::remove_all(folder_, ignored);
    }

    storage::Database& operator*() { return *database_; }
    storage::Database* operator->() { return database_.get(); }
    std::filesystem::path file() const { return folder_ / "palimpsest.db"; }
    void close() { database_.reset(); }
    void clear() // removes all files, keeps the folder
    {
        close();
        for (const char* ending : {"", "-wal", "-shm", "-journal", ".lock"})
            std::filesystem::remove(file().string() + ending);
    }
    void open() { database_ = std::make_unique<storage::Database>(file(), storage::Database::Access::Write); }

private:
    std::filesystem::path folder_;
    std::unique_ptr<storage::Database> database_;
};

} // namespace palimpsest::tests
