// One line of text about the map: describes the cell at the crosshair, or without one, the visible tokens.
#pragma once

#include <QLabel>
#include <optional>

#include "ui/map/place.h"

namespace palimpsest::ui {

class MapReadout : public QLabel {
    Q_OBJECT
public:
    explicit MapReadout(QWidget* parent);

    // Shows text_of(), elided at the width.
    void show_cell(const MapScene& scene, const std::optional<MapCell>& cell);
    int natural_height() const;

    // Describes the cell, or without a cell, how much was read and which tokens are visible. Empty if there are no
    // tokens.
    static QString text_of(const MapScene& scene, const std::optional<MapCell>& cell);
};

} // namespace palimpsest::ui
