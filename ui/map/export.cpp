#include "ui/map/export.h"

#include <QBuffer>
#include <QFileInfo>
#include <QImage>
#include <QPainter>
#include <QSvgGenerator>
#include <QWidget>
#include <algorithm>
#include <cmath>

#include "kernels/base/error.h"
#include "ui/map/painter.h"

namespace palimpsest::ui {
namespace {

constexpr int pixels_per_inch = 96; // as in CSS

QRectF area_of(const RetentionPainter& painter, const MapScene& scene, const MapPictureOptions& options)
{
    const double height = options.height > 0 ? options.height : painter.natural_height(scene, options.width);
    return {0, 0, std::ceil(options.width), std::ceil(height)};
}

QString ending_of(const QString& file)
{
    return QFileInfo(file).suffix().toLower();
}

void write(std::ostream& out, const QByteArray& bytes)
{
    out.write(bytes.constData(), bytes.size());
}

// QPainter's limit for an image's width and height is 32767 pixels.
double scale_of(const QRectF& area, double wanted)
{
    constexpr double most_pixels = 32767;
    return std::min(wanted, most_pixels / std::max(area.width(), area.height()));
}

[[noreturn]] void refuse_size()
{
    throw Error(ErrorKind::Resources, ErrorCode::PictureTooLarge, Text("map"),
                Text("a picture of this size does not fit into memory"), Text("show fewer heads, or write an SVG"));
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

MapPictureOptions picture_options(const QWidget& widget)
{
    MapPictureOptions options{.font = {}, .palette = widget.palette()};
    options.font.fromString(widget.font().toString());
    return options;
}

QByteArray map_png(const MapScene& scene, const MapPictureOptions& options)
{
    const RetentionPainter painter(options.font, options.palette);
    const QRectF area = area_of(painter, scene, options);
    const double scale = scale_of(area, options.scale);
    QImage image((area.size() * scale).toSize(), QImage::Format_RGB32);
    if (image.isNull()) refuse_size();
    image.setDevicePixelRatio(scale);
    image.fill(painter.background());
    QPainter device(&image);
    painter.paint(device, scene, painter.layout(scene, area), RetentionPainter::Style::Pixels, scale);
    device.end();
    QByteArray bytes;
    QBuffer buffer(&bytes);
    if (!buffer.open(QIODevice::WriteOnly) || !image.save(&buffer, "PNG")) refuse_size();
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

FileContent map_file(const QString& file, const MapScene& scene, const MapPictureOptions& options,
                     const MapWriters& writers)
{
    return [=, ending = ending_of(file)](std::ostream& out) {
        if (!scene.map)
            throw Error(ErrorKind::NotFound, ErrorCode::MapNotFound, Text("map"), Text("no session is open"),
                        Text("open one, and export its map"));
        if (ending == QLatin1String("png")) return write(out, map_png(scene, options));
        if (ending == QLatin1String("svg")) return write(out, map_svg(scene, options));
        if (ending == QLatin1String("csv") && writers.csv) return writers.csv(out, *scene.map);
        if (ending == QLatin1String("json") && writers.json) return writers.json(out, *scene.map);
        throw Error(ErrorKind::Usage, ErrorCode::UnsupportedMapFormat, Text::escaped(file.toStdString()),
                    Text("the map can be written as .png, .svg, .json or .csv"),
                    Text("give a name with one of these endings"));
    };
}

} // namespace palimpsest::ui
