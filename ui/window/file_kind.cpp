#include "ui/window/file_kind.h"

#include <QDir>
#include <QFileInfo>

#include "storage/export_file.h"
#include "storage/session/document.h"
#include "storage/transcript/transcript_format.h"

namespace palimpsest::ui {
namespace {

bool is_model(const QFileInfo& file)
{
    if (file.isFile()) return file.suffix().compare(QLatin1String("gguf"), Qt::CaseInsensitive) == 0;
    return QFileInfo(QDir(file.filePath()).filePath(QStringLiteral("config.json"))).isFile();
}

} // namespace

FileKind kind_of(const QString& path)
{
    const QFileInfo file(path);
    if (!file.exists()) return FileKind::Nothing;
    if (is_model(file)) return FileKind::Model;
    if (file.isDir()) return models_in(path).isEmpty() ? FileKind::Folder : FileKind::ModelFolder;
    if (storage::is_export(path.toStdString())) return FileKind::Export;
    return FileKind::Document;
}

QString document_patterns()
{
    QStringList patterns;
    for (const std::string& ending : storage::document_endings())
        patterns.append(QLatin1Char('*') + QString::fromStdString(ending));
    return patterns.join(QLatin1Char(' '));
}

QString with_export_ending(const QString& file, const QString& ending)
{
    const QString own = QStringLiteral(".palimpsest");
    if (file.endsWith(ending) || storage::transcript_format_of(file.toStdString())) return file;
    return (file.endsWith(own) ? file.chopped(own.size()) : file) + ending;
}

QStringList models_in(const QString& folder)
{
    QStringList models;
    if (folder.isEmpty()) return models;
    const auto entries = QDir(folder).entryInfoList(QDir::AllEntries | QDir::NoDotAndDotDot, QDir::Name);
    for (const QFileInfo& entry : entries)
        if (is_model(entry)) models.append(entry.absoluteFilePath());
    return models;
}

QString model_name(const QString& path)
{
    const QFileInfo file(path);
    return file.suffix().compare(QLatin1String("gguf"), Qt::CaseInsensitive) == 0 ? file.completeBaseName()
                                                                                  : file.fileName();
}

} // namespace palimpsest::ui
