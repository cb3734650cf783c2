#include "storage/setting_aside.h"

#include <algorithm>
#include <cerrno>
#include <fcntl.h>
#include <fstream>
#include <iterator>
#include <string>
#include <system_error>
#include <unistd.h>

#include "kernels/base/error.h"
#include "storage/backup.h"
#include "storage/backup_files.h"
#include "storage/clock.h"
#include "storage/file_state.h"

namespace palimpsest::storage {
namespace {

namespace fs = std::filesystem;

fs::path report_beside(const fs::path& aside)
{
    return fs::path(aside).replace_extension(".txt");
}

// A name beside the database that no file has.
fs::path free_name_aside(const fs::path& database)
{
    const fs::path dated = dated_file(database, "aside", today());
    for (int number = 2;; ++number) {
        fs::path name =
            number == 2 ? dated
                        : dated.parent_path() / (dated.stem().string() + "-" + std::to_string(number - 1) + ".db");
        if (!fs::exists(name) && !fs::exists(name.string() + "-wal") && !fs::exists(report_beside(name)))
            return name;
    }
}

constexpr const char* logs[] = {"-wal", "-journal"};

// Holds the name of the copy while the database may lack its log, on a file system without hard links; and in a
// second line, what tells that the database is still the one that was copied: size, time, device and inode.
fs::path marker_of(const fs::path& database)
{
    return database.string() + ".setting-aside";
}

[[noreturn]] void refuse_setting_aside(const fs::path& database, const fs::filesystem_error& failure)
{
    if (failure.code() == std::errc::no_space_on_device || failure.code().value() == EDQUOT)
        throw Error(ErrorKind::Resources, ErrorCode::DiskFull, Text::escaped(database.string()),
                    Text("the disk is full; nothing that was saved is lost"), Text("free space and try again"));
    throw Error(ErrorKind::Failed, ErrorCode::InaccessibleFile, Text::escaped(database.string()),
                Text("it cannot be set aside ({0})", Text::escaped(failure.code().message())),
                Text("check the folder and its permissions"));
}

fs::path part_of(const fs::path& file)
{
    return file.string() + ".part";
}

// Either whole or not there.
void copy_safely(const fs::path& from, const fs::path& to)
{
    fs::copy_file(from, part_of(to), fs::copy_options::overwrite_existing);
    sync_to_disk(part_of(to));
    fs::rename(part_of(to), to);
}

// Whatever else belongs to the database goes first: it is what the others are found by.
void remove_aside(const fs::path& aside)
{
    for (const char* ending : logs) {
        fs::remove(aside.string() + ending);
        fs::remove(part_of(aside.string() + ending));
    }
    fs::remove(report_beside(aside));
    fs::remove(aside);
}

// Readable by its owner only.
void write_safely(const fs::path& file, const std::string& content)
{
    const int descriptor = ::open(file.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
    const ssize_t written = descriptor < 0 ? -1 : ::write(descriptor, content.data(), content.size());
    const int reason = errno;
    if (descriptor >= 0) ::close(descriptor);
    if (written != static_cast<ssize_t>(content.size()))
        throw fs::filesystem_error("write", file, {written < 0 ? reason : ENOSPC, std::generic_category()});
    sync_to_disk(file);
}

std::string size_and_time(const FileState& state)
{
    return std::to_string(state.bytes) + " " + std::to_string(state.changed_ns);
}

// The second line of a marker: size, time and inode of the database that is replaced. Empty if there was none.
std::string description_of(const std::optional<FileState>& state)
{
    if (!state) return {};
    return size_and_time(*state) + " " + std::to_string(state->device) + " " + std::to_string(state->inode);
}

// Whether a marker describes this file. Markers of older versions say only the size and the time.
bool describes(const std::string& line, const std::optional<FileState>& state)
{
    return state && (line == description_of(state) || line == size_and_time(*state));
}

// Gives the database another name besides its own, or on a file system without hard links copies it, and copies its
// log. Returns whether it is a copy.
bool keep_beside(const fs::path& database, const fs::path& aside)
try {
    std::error_code none;
    fs::create_hard_link(database, aside, none);
    if (none) fs::copy_file(database, aside);
    for (const char* ending : logs)
        if (fs::exists(database.string() + ending))
            copy_safely(database.string() + ending, aside.string() + ending);
    sync_to_disk(aside);
    return static_cast<bool>(none);
} catch (...) {
    try {
        remove_aside(aside);
    } catch (const fs::filesystem_error&) {
        // The next owner removes it.
    }
    throw;
}

// The write-ahead log or journal belongs to the database that is set aside: with another one, SQLite would apply it
// all the same. So it is copied first and gone before another database has the name.
void set_aside(const fs::path& database, const fs::path& aside)
{
    const bool is_copy = keep_beside(database, aside);
    if (is_copy)
        write_safely(marker_of(database),
                     aside.filename().string() + "\n" + description_of(FileState::of(database)));
    sync_to_disk(aside.parent_path());
    for (const char* ending : {"-wal", "-shm", "-journal"})
        fs::remove(database.string() + ending);
    sync_to_disk(database.parent_path());
}

bool have_same_content(const fs::path& a, const fs::path& b)
{
    if (fs::file_size(a) != fs::file_size(b)) return false;
    std::ifstream first(a, std::ios::binary), second(b, std::ios::binary);
    return std::equal(std::istreambuf_iterator<char>(first), {}, std::istreambuf_iterator<char>(second));
}

// Compares pieces at even distances, the first and the last one included: at most 1 MiB of each.
bool have_same_pieces(const fs::path& a, const fs::path& b)
{
    constexpr uintmax_t pieces = 128, piece_bytes = 8192;
    const uintmax_t bytes = fs::file_size(a);
    if (bytes != fs::file_size(b)) return false;
    std::ifstream first(a, std::ios::binary), second(b, std::ios::binary);
    const auto piece_at = [](std::ifstream& file, uintmax_t at) {
        std::string piece(piece_bytes, '\0');
        file.clear();
        file.seekg(static_cast<std::streamoff>(at)).read(piece.data(), piece_bytes);
        piece.resize(static_cast<size_t>(file.gcount()));
        return piece;
    };
    const uintmax_t last = bytes - std::min(bytes, piece_bytes);
    for (uintmax_t i = 0; i < pieces; ++i) {
        const uintmax_t at = i + 1 < pieces ? last / (pieces - 1) * i : last;
        if (piece_at(first, at) != piece_at(second, at)) return false;
    }
    return true;
}

// The copy of the database that the marker names, unless another database has the name already.
fs::path unfinished_copy(const fs::path& database)
{
    std::ifstream in(marker_of(database), std::ios::binary);
    std::string name, known;
    if (!std::getline(in, name)) return {};
    // Another file, such as a copy of the database on another disk, is compared as a whole.
    const bool is_known = std::getline(in, known) && describes(known, FileState::of(database));
    for (const UnusedFile& file : unused_files(database))
        if (file.path.filename() == name && file.path.extension() == ".db" &&
            (is_known ? have_same_pieces : have_same_content)(file.path, database))
            return file.path;
    return {};
}

// Another name or a copy of the database that was made because another database was about to take its name, which
// did not happen.
fs::path unfinished_aside(const fs::path& database)
{
    if (const fs::path copy = unfinished_copy(database); !copy.empty()) return copy;
    std::error_code none;
    if (fs::hard_link_count(database, none) < 2 || none) return {};
    for (const UnusedFile& file : unused_files(database))
        if (file.path.extension() == ".db" && file.path.filename() != database.filename() &&
            fs::equivalent(file.path, database, none))
            return file.path;
    return {};
}

// The database's own log is removed only when the kept one is whole, so one that is there is as new, or newer. An
// empty one was made by a reader. Needs no space.
void give_log_back(const fs::path& kept, const fs::path& log)
{
    if (!fs::exists(kept) || (fs::exists(log) && fs::file_size(log) > 0)) return;
    fs::rename(kept, log);
    sync_to_disk(log.parent_path());
}

void keep_as_it_was(const fs::path& database, const fs::path& made)
{
    std::error_code ignored;
    fs::remove(made, ignored);
    undo_setting_aside(database);
}

} // namespace

SetAside replace_database(const fs::path& database, const fs::path& made, const std::string& report)
{
    SetAside kept;
    try {
        if (fs::exists(database)) {
            kept.database = free_name_aside(database);
            set_aside(database, kept.database);
            if (!report.empty()) write_safely(kept.report = report_beside(kept.database), report);
        }
        fs::rename(made, database);
    } catch (const fs::filesystem_error& failure) {
        keep_as_it_was(database, made);
        refuse_setting_aside(database, failure);
    } catch (const Error&) {
        keep_as_it_was(database, made);
        throw;
    }
    // It is done. After a power failure the older state may have the name again, whole.
    try {
        sync_to_disk(database.parent_path());
    } catch (const Error&) {
    }
    std::error_code ignored;
    fs::remove(marker_of(database), ignored);
    return kept;
}

bool is_set_aside(const fs::path& database)
{
    return !unfinished_aside(database).empty();
}

void undo_setting_aside(const fs::path& database)
try {
    if (const fs::path aside = unfinished_aside(database); !aside.empty()) {
        for (const char* ending : logs)
            give_log_back(aside.string() + ending, database.string() + ending);
        remove_aside(aside);
    }
    fs::remove(marker_of(database));
} catch (const fs::filesystem_error& failure) {
    refuse_setting_aside(database, failure);
}

} // namespace palimpsest::storage
