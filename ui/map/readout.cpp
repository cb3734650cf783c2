#include "ui/map/readout.h"

#include "ui/base/quantity.h"

#include <cmath>

namespace palimpsest::ui {

MapReadout::MapReadout(QWidget* parent) : QLabel(parent)
{
    setTextFormat(Qt::PlainText);
    setAccessibleName(tr("Place of the crosshair"));
    setTextInteractionFlags(Qt::NoTextInteraction);
    setIndent(parent->fontMetrics().averageCharWidth());
}

void MapReadout::show_cell(const MapScene& scene, const std::optional<MapCell>& cell)
{
    setText(fontMetrics().elidedText(text_of(scene, cell), Qt::ElideRight, width() - 2 * indent()));
}

int MapReadout::natural_height() const
{
    return fontMetrics().height() * 3 / 2;
}

QString MapReadout::text_of(const MapScene& scene, const std::optional<MapCell>& cell)
{
    if (!scene.map || scene.window.length() == 0) return {};
    if (cell) return cell_sentence(*cell, facts_of(*scene.map, *cell), scene.map->tokens_seen);
    return tr("%1 tokens read, %2 to %3 shown")
        .arg(count_text(scene.map->tokens_seen), count_text(static_cast<uint64_t>(scene.window.first())),
             count_text(static_cast<uint64_t>(std::ceil(scene.window.last())) - 1));
}

} // namespace palimpsest::ui
