#include "ui/map/exporter.h"

#include <QFileDialog>
#include <utility>

namespace palimpsest::ui {

MapExporter::MapExporter(QObject* parent) : QObject(parent), files_(new FileWriter(this))
{
    connect(files_, &FileWriter::ended, this, &MapExporter::ended);
}

void MapExporter::set_title(const QString& title)
{
    title_ = title;
}

void MapExporter::set_writers(MapWriters writers)
{
    writers_ = std::move(writers);
}

void MapExporter::write_with(FileWriter& files)
{
    delete std::exchange(files_, &files);
}

void MapExporter::save(const QString& file, const MapScene& scene, const MapPictureOptions& options)
{
    MapScene titled = scene;
    titled.title = title_;
    titled.has_legend = true;
    titled.has_handles = false;
    files_->write(file, map_file(file, titled, options, writers_));
}

void MapExporter::ask(QWidget* parent)
{
    QStringList filters = {tr("PNG picture (*.png)"), tr("SVG picture (*.svg)")};
    if (writers_.csv) filters += tr("List of kept tokens (*.csv)");
    if (writers_.json) filters += tr("Lists of layers and heads (*.json)");
    auto* const dialog =
        new QFileDialog(parent, tr("Export the retained-token map"), {}, filters.join(QLatin1String(";;")));
    dialog->setAcceptMode(QFileDialog::AcceptSave);
    dialog->setDefaultSuffix(QStringLiteral("png"));
    dialog->setAttribute(Qt::WA_DeleteOnClose);
    connect(dialog, &QFileDialog::filterSelected, dialog, [dialog](const QString& filter) {
        const qsizetype at = filter.lastIndexOf(QLatin1String("*."));
        dialog->setDefaultSuffix(filter.mid(at + 2, 3) == QLatin1String("jso") ? QStringLiteral("json")
                                                                               : filter.mid(at + 2, 3));
    });
    connect(dialog, &QFileDialog::fileSelected, this, &MapExporter::file_chosen);
    dialog->open();
}

} // namespace palimpsest::ui
