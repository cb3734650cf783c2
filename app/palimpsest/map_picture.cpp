#include "app/palimpsest/map_picture.h"

#ifdef PALIMPSEST_WITH_UI
#include <QGuiApplication>
#include <QLocale>
#include <memory>

#include "ui/map/export.h"
#endif

namespace palimpsest::app {

#ifdef PALIMPSEST_WITH_UI
namespace {

// Provides fonts and painting without a display; null if there is an application already.
std::unique_ptr<QGuiApplication> offscreen_application()
{
    if (QCoreApplication::instance()) return nullptr;
    static int argument_count = 1;
    static char name[] = "palimpsest";
    static char* arguments[] = {name, nullptr};
    qputenv("QT_QPA_PLATFORM", "offscreen");
    QLocale::setDefault(QLocale(QLocale::English)); // numbers as in the command's other output
    return std::make_unique<QGuiApplication>(argument_count, arguments);
}

std::vector<ui::MapRow> chosen_rows(const engine::RetentionMap& map, const engine::MapFilter& filter)
{
    std::vector<ui::MapRow> rows;
    for (int32_t layer = map.layers - 1; layer >= 0; --layer)
        for (int32_t head = map.kv_heads - 1; head >= 0; --head)
            if (filter.shows(layer, head)) rows.push_back({layer, head});
    return rows;
}

} // namespace

bool has_map_painter()
{
    return true;
}

std::string map_picture(const engine::RetentionMap& map, const engine::MapFilter& filter, const std::string& title,
                        PictureKind kind)
{
    const auto application = offscreen_application();
    // Non-owning: the map outlives this call.
    ui::MapScene scene = ui::MapScene::of(std::shared_ptr<const engine::RetentionMap>(&map, [](const auto*) {}));
    scene.title = QString::fromStdString(title);
    if (filter.layer || filter.head) scene.rows.choose(chosen_rows(map, filter));
    const ui::MapPictureOptions options = ui::print_options();
    return (kind == PictureKind::Png ? ui::map_png(scene, options) : ui::map_svg(scene, options)).toStdString();
}

#else

bool has_map_painter()
{
    return false;
}

std::string map_picture(const engine::RetentionMap&, const engine::MapFilter&, const std::string&, PictureKind)
{
    return {};
}

#endif

} // namespace palimpsest::app
