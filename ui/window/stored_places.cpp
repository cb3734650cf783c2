#include "ui/window/stored_places.h"

#include <QCoreApplication>
#include <QDir>
#include <QFileInfo>

namespace palimpsest::ui {
namespace {

struct StoredPlacesWords {
    Q_DECLARE_TR_FUNCTIONS(palimpsest::ui::StoredPlaces)
};

qint64 size_of(const QString& path)
{
    const QFileInfo file(path);
    if (file.isFile()) return file.size();
    qint64 bytes = 0;
    if (file.isDir())
        for (const QFileInfo& entry : QDir(path).entryInfoList(QDir::Files | QDir::Hidden))
            bytes += entry.size();
    return bytes;
}

} // namespace

std::vector<StoredPlace> stored_places(const QString& database, const QString& preferences_file,
                                       const QString& models_folder)
{
    const QFileInfo file(database);
    const QString backups = file.dir().filePath(QStringLiteral("backups"));
    const qint64 sessions =
        size_of(database) + size_of(database + QStringLiteral("-wal")) + size_of(database + QStringLiteral("-shm"));
    return {{StoredPlacesWords::tr("Documents, sessions and saved states"), database, sessions},
            {StoredPlacesWords::tr("Backups of them, one a day"), backups, size_of(backups)},
            {StoredPlacesWords::tr("Settings, window places and recent files"), preferences_file,
             size_of(preferences_file)},
            {StoredPlacesWords::tr("Models"), models_folder, size_of(models_folder)}};
}

} // namespace palimpsest::ui
