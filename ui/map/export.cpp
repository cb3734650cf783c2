#include "ui/map/export.h"

#include <QBuffer>
#include <QFileInfo>
#include <QImage>
#include <QPainter>
#include <QSaveFile>
#include <QSvgGenerator>
#include <cmath>
#include <sstream>

#include "kernels/base/error.h"
#include "ui/map/painter.h"

namespace palimpsest::ui {
namespace {

constexpr int pixels_per_inch = 96; // of CSS

QRectF area_of(const RetentionPainter& painter, const MapScene& scene, const MapPictureOptions& options)
{
    const double height = options.height > 0 ? options.height : painter.natural_height(scene, options.width);
    return {0, 0, std::ceil(options.width), std::ceil(height)};
}

QByteArray list(const MapWriter& write, const engine::RetentionMap& map)
{
    std::ostringstream out;
    write(out, map);
    return QByteArray::fromStdString(out.str());
}

void save(const QString& file, const QByteArray& bytes)
{
    QSaveFile out(file);
    if (!out.open(QIODevice::WriteOnly) || out.write(bytes) != bytes.size() || !out.commit())
        throw Error(ErrorKind::Failed, "PAL-DISK-03", printable(file.toStdString()),
                    "it cannot be written (" + out.errorString().toStdString() + ")",
                    "check the folder, its permissions and the free space");
}

} // namespace

MapPictureOptions print_options()
{
    QPalette palette(QColor(250, 250, 250));
    for (const auto group : {QPalette::Active, QPalette::Inactive}) {
        palette.setColor(group, QPalette::Window, Qt::white);
        palette.setColor(group, QPalette::WindowText, QColor(24, 24, 24));
        palette.setColor(group, QPalette::Highlight, QColor(20, 90, 180));
    }
    return {.font = {}, .palette = palette};
}

QByteArray map_png(const MapScene& scene, const MapPictureOptions& options)
{
    const RetentionPainter painter(options.font, options.palette);
    const QRectF area = area_of(painter, scene, options);
    QImage image((area.size() * options.scale).toSize(), QImage::Format_RGB32);
    if (image.isNull())
        throw Error(ErrorKind::Resources, "PAL-MAP-01", "map", "a picture of this size does not fit into memory",
                    "make it smaller, or write an SVG");
    image.setDevicePixelRatio(options.scale);
    image.fill(painter.background());
    QPainter device(&image);
    painter.paint(device, scene, painter.layout(scene, area), RetentionPainter::Style::Pixels, options.scale);
    device.end();
    QByteArray bytes;
    QBuffer buffer(&bytes);
    buffer.open(QIODevice::WriteOnly);
    image.save(&buffer, "PNG");
    return bytes;
}

QByteArray map_svg(const MapScene& scene, const MapPictureOptions& options)
{
    const RetentionPainter painter(options.font, options.palette);
    const QRectF area = area_of(painter, scene, options);
    QByteArray bytes;
    QBuffer buffer(&bytes);
    buffer.open(QIODevice::WriteOnly);
    QSvgGenerator generator;
    generator.setOutputDevice(&buffer);
    generator.setResolution(pixels_per_inch);
    generator.setSize(area.size().toSize());
    generator.setViewBox(area);
    generator.setTitle(scene.title);
    QPainter device(&generator);
    device.fillRect(area, painter.background());
    painter.paint(device, scene, painter.layout(scene, area), RetentionPainter::Style::Shapes);
    device.end();
    return bytes;
}

void export_map(const QString& file, const MapScene& scene, const MapPictureOptions& options,
                const MapWriters& writers)
{
    const QString ending = QFileInfo(file).suffix().toLower();
    if (ending == QLatin1String("png")) return save(file, map_png(scene, options));
    if (ending == QLatin1String("svg")) return save(file, map_svg(scene, options));
    if (ending == QLatin1String("csv") && writers.csv) return save(file, list(writers.csv, *scene.map));
    if (ending == QLatin1String("json") && writers.json) return save(file, list(writers.json, *scene.map));
    throw Error(ErrorKind::Usage, "PAL-OPTION-05", printable(file.toStdString()),
                "the map can be written as .png, .svg, .csv or .json", "give a name with one of these endings");
}

} // namespace palimpsest::ui
