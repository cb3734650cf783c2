// The factories of the main window's areas, and which areas are tabs.
#pragma once

#include <functional>

class QWidget;

namespace palimpsest::ui {

// The window has no area whose factory is empty. `parent` owns the created widget.
struct WindowAreas {
    using Make = std::function<QWidget*(QWidget* parent)>;
    Make chat{}, document{}, outline{}, compare{}, map{}, memory{}, policy{};
};

enum class Tab { Chat, Document, Outline, Compare };

} // namespace palimpsest::ui
