// Exports the map of a view to files that the user chooses, on a worker thread.
#pragma once

#include <QObject>

#include "ui/map/export.h"

namespace palimpsest::ui {

class MapExporter : public QObject {
    Q_OBJECT
public:
    explicit MapExporter(QObject* parent = nullptr);

    void set_title(const QString& title); // drawn above pictures
    void set_writers(MapWriters writers); // CSV and JSON; a format without a writer is not offered
    // Uses `files` instead of a FileWriter of this object, so that an export can outlive it. Then the signal
    // `ended` of `files` reports the result. Call at most once.
    void write_with(FileWriter& files);

    // Asynchronous; ended() reports the result. The legend is always drawn.
    void save(const QString& file, const MapScene& scene, const MapPictureOptions& options);
    void ask(QWidget* parent); // opens a file dialog; file_chosen() follows, unless it is cancelled

Q_SIGNALS:
    void file_chosen(const QString& file);
    void ended(const QString& file, const QString& trouble); // trouble: empty if the file was written

private:
    QString title_;
    MapWriters writers_;
    FileWriter* files_;
};

} // namespace palimpsest::ui
