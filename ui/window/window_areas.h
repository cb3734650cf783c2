// The areas of the main window: what creates them, and the tabs among them.
#pragma once

#include <functional>

class QWidget;

namespace palimpsest::ui {

// Factories of the areas; an area without a factory is left out. The parent owns the created widget.
struct WindowAreas {
    using Make = std::function<QWidget*(QWidget* parent)>;
    Make chat{}, document{}, compare{}, map{}, memory{}, policy{};
};

enum class Tab { Chat, Document, Compare };

} // namespace palimpsest::ui
