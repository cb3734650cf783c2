// A retained-token map as a comparison uses it.
#pragma once

#include <QString>
#include <functional>
#include <memory>

#include "engine/cache/retention_map.h"

class QWidget;

namespace palimpsest::ui {

class FileWriter;

struct CompareMap {
    QWidget* widget = nullptr; // made for the view, which owns it
    std::function<void(std::shared_ptr<const engine::RetentionMap> kept, uint64_t tokens, const QString& title)>
        show;
    std::function<void(double first, double last)> show_range;                              // in tokens
    std::function<void(std::function<void(double first, double last)>)> when_range_changes; // by the reader
    std::function<void(FileWriter& files)> write_with{}; // what is exported, though the map goes meanwhile
};
using MakeCompareMap = std::function<CompareMap(QWidget* parent, bool with_legend)>;

CompareMap make_retention_view(QWidget* parent, bool with_legend);

} // namespace palimpsest::ui
