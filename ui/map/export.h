// Exports the map: as pictures, drawn by the painter that the window uses, or as lists of kept tokens, written by
// the engine.
#pragma once

#include <QByteArray>
#include <QFont>
#include <QPalette>
#include <QString>
#include <functional>
#include <ostream>

#include "ui/base/file_writer.h"
#include "ui/map/scene.h"

class QWidget;

namespace palimpsest::ui {

struct MapPictureOptions {
    QFont font;
    QPalette palette; // decides between light and dark
    double width = 1600;
    double height = 0; // 0: natural height of the rows
    double scale = 2;  // device pixels per unit of a PNG; reduced if the image would exceed the painter's limit
};
// A light picture in the default font, independent of the desktop: for papers and for machines without a desktop.
MapPictureOptions print_options();
// Font and palette of the widget. The font is a copy that shares no data with the program's, so another thread may
// use it.
MapPictureOptions picture_options(const QWidget& widget);

// REQUIRES: a QGuiApplication. Throws Error (Resources, PAL-MAP-01) if a picture of this size cannot be made.
QByteArray map_png(const MapScene& scene, const MapPictureOptions& options);
QByteArray map_svg(const MapScene& scene, const MapPictureOptions& options);

// Writes CSV or JSON. The caller supplies the writers, because the files also name model and policy, which the map
// does not know.
using MapWriter = std::function<void(std::ostream& out, const engine::RetentionMap& map)>;
struct MapWriters {
    MapWriter csv, json;
};

// Returns a function that writes `file` in the format of its extension: .png, .svg, .csv or .json. It copies its
// arguments and may be called on any thread. It throws Error (NotFound, PAL-MAP-02) if there is no map, (Usage,
// PAL-OPTION-05) for another extension, and the errors of map_png.
FileContent map_file(const QString& file, const MapScene& scene, const MapPictureOptions& options,
                     const MapWriters& writers);

} // namespace palimpsest::ui
