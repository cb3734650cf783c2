#include "ui/compare/compare_map.h"

#include "ui/map/view.h"

namespace palimpsest::ui {

CompareMap make_retention_view(QWidget* parent, bool with_legend)
{
    auto* view = new RetentionView(parent);
    view->set_compact(!with_legend);
    view->setMinimumHeight(view->fontMetrics().height() * (with_legend ? 11 : 7));
    return {.widget = view,
            .show =
                [view](std::shared_ptr<const engine::RetentionMap> kept, uint64_t tokens, const QString& title) {
                    view->set_map(std::move(kept), tokens);
                    view->exporter().set_title(title);
                },
            .show_range = [view](double first, double last) { view->show_window(first, last); },
            .when_range_changes =
                [view](std::function<void(double, double)> told) {
                    QObject::connect(view, &RetentionView::window_changed, view, std::move(told));
                },
            .write_with = [view](FileWriter& files) { view->exporter().write_with(files); }};
}

} // namespace palimpsest::ui
