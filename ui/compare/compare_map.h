// A retained-token map, as the comparison uses it.
#pragma once

#include <QString>
#include <functional>
#include <memory>

#include "engine/cache/retention_map.h"

class QWidget;

namespace palimpsest::ui {

class FileWriter;

struct CompareMap {
    QWidget* widget = nullptr; // a child of `parent`, which owns it
    std::function<void(std::shared_ptr<const engine::RetentionMap> kept, uint64_t tokens, const QString& title)>
        show;
    std::function<void(double first, double last)> show_range; // in tokens
    // Sets the function that is called when the user changes the range.
    std::function<void(std::function<void(double first, double last)>)> when_range_changes;
    // Lets `files` write the map's exports, so that they go on if the map is destroyed.
    std::function<void(FileWriter& files)> write_with{};
};
using MakeCompareMap = std::function<CompareMap(QWidget* parent, bool with_legend)>;

CompareMap make_retention_view(QWidget* parent, bool with_legend);

} // namespace palimpsest::ui
