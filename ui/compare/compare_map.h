// A retained-token map as a comparison uses it.
#pragma once

#include <functional>
#include <memory>

#include "engine/cache/retention_map.h"

class QWidget;

namespace palimpsest::ui {

struct CompareMap {
    QWidget* widget = nullptr; // made for the view, which owns it
    std::function<void(std::shared_ptr<const engine::RetentionMap> kept, uint64_t tokens)> show;
    std::function<void(double first, double last)> show_range;                              // in tokens
    std::function<void(std::function<void(double first, double last)>)> when_range_changes; // by the reader
};
using MakeCompareMap = std::function<CompareMap(QWidget* parent)>;

CompareMap make_retention_view(QWidget* parent);

} // namespace palimpsest::ui
