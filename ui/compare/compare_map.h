// Interface of the retained-token maps in a comparison.
#pragma once

#include <QString>
#include <functional>
#include <memory>

#include "engine/cache/retention_map.h"

class QWidget;

namespace palimpsest::ui {

class FileWriter;

struct CompareMap {
    QWidget* widget = nullptr; // created for the view, which owns it
    std::function<void(std::shared_ptr<const engine::RetentionMap> kept, uint64_t tokens, const QString& title)>
        show;
    std::function<void(double first, double last)> show_range;                              // in tokens
    std::function<void(std::function<void(double first, double last)>)> when_range_changes; // by the user
    std::function<void(FileWriter& files)> write_with{}; // exports survive the map
};
using MakeCompareMap = std::function<CompareMap(QWidget* parent, bool with_legend)>;

CompareMap make_retention_view(QWidget* parent, bool with_legend);

} // namespace palimpsest::ui
