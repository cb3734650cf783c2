#include "storage/setting_aside.h"

#include <algorithm>
#include <fstream>
#include <iterator>
#include <string>

#include "kernels/base/error.h"
#include "storage/backup.h"
#include "storage/backup_files.h"
#include "storage/clock.h"

namespace palimpsest::storage {
namespace {

namespace fs = std::filesystem;

// A name beside the database that no file has.
fs::path free_name_aside(const fs::path& database)
{
    const fs::path dated = dated_file(database, "aside", today());
    for (int number = 2;; ++number) {
        fs::path name =
            number == 2 ? dated
                        : dated.parent_path() / (dated.stem().string() + "-" + std::to_string(number - 1) + ".db");
        if (!fs::exists(name) && !fs::exists(name.string() + "-wal")) return name;
    }
}

constexpr const char* logs[] = {"-wal", "-journal"};

[[noreturn]] void refuse_setting_aside(const fs::path& database, const fs::filesystem_error& failure)
{
    throw Error(ErrorKind::Failed, ErrorCode::InaccessibleFile, Text::escaped(database.string()),
                Text("it cannot be set aside ({0})", Text::escaped(failure.code().message())),
                Text("check the folder and its permissions"));
}

void copy_safely(const fs::path& from, const fs::path& to)
{
    fs::copy_file(from, to, fs::copy_options::overwrite_existing);
    sync_to_disk(to);
}

// The write-ahead log or journal belongs to the database that is set aside: with another one, SQLite would apply it
// all the same. So it is copied first and gone before another database has the name.
void set_aside(const fs::path& database, const fs::path& aside)
{
    std::error_code none;
    fs::create_hard_link(database, aside, none);
    if (none) fs::copy_file(database, aside); // a file system without hard links
    for (const char* ending : logs)
        if (fs::exists(database.string() + ending))
            copy_safely(database.string() + ending, aside.string() + ending);
    sync_to_disk(aside);
    sync_to_disk(aside.parent_path());
    for (const char* ending : {"-wal", "-shm", "-journal"})
        fs::remove(database.string() + ending);
    sync_to_disk(database.parent_path());
}

// A name that the database has besides its own, because another one did not take that any more.
fs::path unfinished_aside(const fs::path& database)
{
    std::error_code none;
    if (fs::hard_link_count(database, none) < 2 || none) return {};
    for (const UnusedFile& file : unused_files(database))
        if (file.path.extension() == ".db" && file.path.filename() != database.filename() &&
            fs::equivalent(file.path, database, none))
            return file.path;
    return {};
}

bool have_same_content(const fs::path& a, const fs::path& b)
{
    if (fs::file_size(a) != fs::file_size(b)) return false;
    std::ifstream first(a, std::ios::binary), second(b, std::ios::binary);
    return std::equal(std::istreambuf_iterator<char>(first), {}, std::istreambuf_iterator<char>(second));
}

// Returns false if the database has another log. One without content was made by a reader.
bool give_log_back(const fs::path& kept, const fs::path& log)
{
    if (!fs::exists(kept)) return true;
    if (fs::exists(log) && fs::file_size(log) > 0) return have_same_content(kept, log);
    const fs::path part = kept.string() + ".part";
    copy_safely(kept, part);
    fs::rename(part, log);
    sync_to_disk(log.parent_path());
    return true;
}

void keep_as_it_was(const fs::path& database, const fs::path& made)
{
    std::error_code ignored;
    fs::remove(made, ignored);
    undo_setting_aside(database);
}

} // namespace

fs::path replace_database(const fs::path& database, const fs::path& made)
{
    fs::path aside;
    try {
        if (fs::exists(database)) {
            aside = free_name_aside(database);
            set_aside(database, aside);
        }
        fs::rename(made, database);
        sync_to_disk(database.parent_path());
    } catch (const fs::filesystem_error& failure) {
        keep_as_it_was(database, made);
        refuse_setting_aside(database, failure);
    } catch (const Error&) {
        keep_as_it_was(database, made);
        throw;
    }
    return aside;
}

bool is_set_aside(const fs::path& database)
{
    return !unfinished_aside(database).empty();
}

void undo_setting_aside(const fs::path& database)
try {
    const fs::path aside = unfinished_aside(database);
    if (aside.empty()) return;
    for (const char* ending : logs)
        if (!give_log_back(aside.string() + ending, database.string() + ending)) return;
    for (const char* ending : logs)
        fs::remove(aside.string() + ending);
    fs::remove(aside);
} catch (const fs::filesystem_error& failure) {
    refuse_setting_aside(database, failure);
}

} // namespace palimpsest::storage
