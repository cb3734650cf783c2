#include "ui/compare/compare_map.h"

#include "ui/map/view.h"

namespace palimpsest::ui {

CompareMap make_retention_view(QWidget* parent)
{
    auto* view = new RetentionView(parent);
    view->setMinimumHeight(view->fontMetrics().height() * 11);
    return {.widget = view,
            .show = [view](std::shared_ptr<const engine::RetentionMap> kept,
                           uint64_t tokens) { view->set_map(std::move(kept), tokens); },
            .show_range = [view](double first, double last) { view->show_window(first, last); },
            .when_range_changes =
                [view](std::function<void(double, double)> told) {
                    QObject::connect(view, &RetentionView::window_changed, view, std::move(told));
                }};
}

} // namespace palimpsest::ui
