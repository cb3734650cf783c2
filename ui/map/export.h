// The map as files: pictures by the window's painter, lists by the writers of the engine's side.
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
    QPalette palette; // light or dark
    double width = 1600;
    double height = 0; // 0: as the rows need it
    double scale = 2;  // device pixels of a PNG in a unit; fewer where it would be larger than can be painted
};
// A light picture in the program's font, whatever the desktop is like: for papers and for machines without one.
MapPictureOptions print_options();
// As the widget is, for another thread: the font is no part of the program's, which other threads must not look at.
MapPictureOptions picture_options(const QWidget& widget);

// REQUIRES: a QGuiApplication. Throws Error (Resources, PAL-MAP-01) if a picture of this size cannot be made.
QByteArray map_png(const MapScene& scene, const MapPictureOptions& options);
QByteArray map_svg(const MapScene& scene, const MapPictureOptions& options);

// Lists need to know of model and policy what the map does not: their writers are given.
using MapWriter = std::function<void(std::ostream& out, const engine::RetentionMap& map)>;
struct MapWriters {
    MapWriter csv, json;
};

// What `file` gets, by the ending of its name: .png, .svg, .csv or .json. A value, that can be written on any
// thread. Writing it throws Error (NotFound, PAL-MAP-02) without a map, (Usage, PAL-OPTION-05) for another ending,
// and as map_png does.
FileContent map_file(const QString& file, const MapScene& scene, const MapPictureOptions& options,
                     const MapWriters& writers);

} // namespace palimpsest::ui
