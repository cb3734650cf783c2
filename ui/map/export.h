// The map as files: pictures by the window's painter, lists by the writers of the engine's side.
#pragma once

#include <QByteArray>
#include <QFont>
#include <QPalette>
#include <QString>
#include <functional>
#include <ostream>

#include "ui/map/scene.h"

namespace palimpsest::ui {

struct MapPictureOptions {
    QFont font;
    QPalette palette; // light or dark
    double width = 1600;
    double height = 0; // 0: as the rows need it
    double scale = 2;  // device pixels of a PNG in a unit
};
// A light picture in the program's font, whatever the desktop is like: for papers and for machines without one.
MapPictureOptions print_options();

// REQUIRES: a QGuiApplication. Throws Error (Resources, PAL-MAP-01) if a picture of this size cannot be made.
QByteArray map_png(const MapScene& scene, const MapPictureOptions& options);
QByteArray map_svg(const MapScene& scene, const MapPictureOptions& options);

// Lists need to know of model and policy what the map does not: their writers are given.
using MapWriter = std::function<void(std::ostream& out, const engine::RetentionMap& map)>;
struct MapWriters {
    MapWriter csv, json;
};

// By the ending of the name: .png, .svg, .csv or .json. What was there stays until all is written. Throws Error
// (Usage, PAL-OPTION-05) for another ending, (Failed, PAL-DISK-03) where nothing can be written.
void export_map(const QString& file, const MapScene& scene, const MapPictureOptions& options,
                const MapWriters& writers);

} // namespace palimpsest::ui
