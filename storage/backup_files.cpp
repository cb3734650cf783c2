#include "storage/backup_files.h"

#include <algorithm>
#include <cstdio>

#include "kernels/base/error.h"
#include "kernels/base/printable.h"

namespace palimpsest::storage {
namespace {

namespace fs = std::filesystem;

constexpr const char* backup_kinds[] = {"before-schema", "weekly", "daily"};

std::string prefix(const fs::path& database, const char* kind)
{
    return database.stem().string() + "-" + kind + "-";
}

} // namespace

fs::path backup_folder(const fs::path& database)
{
    return fs::absolute(database).parent_path() / "backups";
}

fs::path before_schema(const fs::path& database, int version)
{
    return backup_folder(database) /
           (database.stem().string() + "-before-schema-" + std::to_string(version) + ".db");
}

fs::path dated_file(const fs::path& database, const char* kind, std::chrono::sys_days day)
{
    const std::chrono::year_month_day date(day);
    char text[32];
    std::snprintf(text, sizeof text, "%04d-%02u-%02u", static_cast<int>(date.year()),
                  static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()));
    return fs::absolute(database).parent_path() / (prefix(database, kind) + text + ".db");
}

fs::path dated_backup(const fs::path& database, const char* kind, std::chrono::sys_days day)
{
    return backup_folder(database) / dated_file(database, kind, day).filename();
}

std::vector<fs::path> backups_of(const fs::path& database)
{
    std::vector<fs::path> all;
    for (const char* kind : backup_kinds)
        for (const fs::path& file : backups_of(database, kind))
            all.push_back(file);
    const auto written = [](const fs::path& file) {
        std::error_code unknown;
        return fs::last_write_time(file, unknown);
    };
    std::stable_sort(all.begin(), all.end(),
                     [&](const fs::path& a, const fs::path& b) { return written(a) < written(b); });
    return all;
}

std::vector<fs::path> backups_of(const fs::path& database, const char* kind)
{
    std::vector<fs::path> files;
    std::error_code none;
    for (fs::directory_iterator entry(backup_folder(database), none), end; entry != end; entry.increment(none)) {
        const std::string name = entry->path().filename().string();
        if (name.starts_with(prefix(database, kind)) && name.ends_with(".db")) files.push_back(entry->path());
    }
    std::sort(files.begin(), files.end());
    return files;
}

std::vector<UnusedFile> unused_files(const fs::path& database)
{
    std::vector<UnusedFile> files;
    std::error_code none;
    const std::string aside = prefix(database, "aside");
    for (const fs::path& folder : {fs::absolute(database).parent_path(), backup_folder(database)})
        for (fs::directory_iterator entry(folder, none), end; entry != end; entry.increment(none)) {
            const std::string name = entry->path().filename().string();
            const bool is_copy =
                folder == backup_folder(database) && name.starts_with(database.stem().string() + "-");
            if (name.starts_with(aside) || (is_copy && name.find(".db.part") != name.npos))
                files.push_back({entry->path(), entry->file_size(none)});
        }
    std::sort(files.begin(), files.end(), [](const auto& a, const auto& b) { return a.path < b.path; });
    return files;
}

void remove_unfinished_backups(const fs::path& database)
{
    std::error_code ignored;
    for (const UnusedFile& file : unused_files(database)) {
        const std::string name = file.path.filename().string();
        const bool is_backup = std::ranges::any_of(
            backup_kinds, [&](const char* kind) { return name.starts_with(prefix(database, kind)); });
        if (is_backup && file.path.parent_path() == backup_folder(database)) fs::remove(file.path, ignored);
    }
}

void remove_backups(const fs::path& database)
{
    std::error_code ignored;
    remove_unfinished_backups(database);
    for (const fs::path& file : backups_of(database))
        fs::remove(file, ignored);
}

Text restoring_advice(const fs::path& database)
{
    const auto backups = backups_of(database);
    if (backups.empty())
        return Text("it was left as it is and there is no backup; {0}, or {1}", Step::RescueSessions,
                    Step::ChooseDatabase);
    return Text("it was left as it is; {0} ({1}), or {2}", Step::RestoreBackup,
                printable(backups.back().filename().string()), Step::RescueSessions);
}

} // namespace palimpsest::storage
