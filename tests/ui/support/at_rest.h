// Waits until the views that load, lay out or paint asynchronously have finished.
#pragma once

#include <QAbstractAnimation>
#include <QStringList>
#include <QWidget>

#include "tests/ui/support/patience.h"
#include "ui/chat/chat_view.h"
#include "ui/document/document_view.h"
#include "ui/map/view.h"
#include "ui/window/model_bar.h"

namespace palimpsest::ui::test {
namespace at_rest {

inline bool is_at_rest(const ChatView& view)
{
    return view.is_laid_out();
}

inline bool is_at_rest(const RetentionView& view)
{
    return view.is_current();
}

inline bool is_at_rest(const ModelBar& bar)
{
    return !bar.is_looking();
}

inline bool is_at_rest(const DocumentView& view)
{
    return !view.is_flashing() && (!view.source() || view.text_layout().is_complete());
}

// An endless animation shows progress and never finishes, so it counts as at rest.
inline bool is_at_rest(const QAbstractAnimation& animation)
{
    return animation.state() != QAbstractAnimation::Running || animation.totalDuration() < 0;
}

// A view that is scrolled out of sight is not painted, so it does not come to rest until it is scrolled into sight.
inline bool is_seen(const QWidget& view)
{
    return view.isVisible() && !view.visibleRegion().isEmpty();
}

inline bool is_seen(const QAbstractAnimation&)
{
    return true;
}

// Adds the names of the views that are not at rest.
template<class View>
void find_busy(const QWidget& root, QStringList& busy)
{
    auto views = root.findChildren<const View*>();
    if (const auto* own = qobject_cast<const View*>(&root)) views << own;
    for (const View* view : views)
        if (is_seen(*view) && !is_at_rest(*view)) busy << QLatin1String(view->metaObject()->className());
}

} // namespace at_rest

// Waits for `root` itself, the visible views below it and the animations. Returns false if the wait times out, and
// prints what is still busy then.
inline bool comes_to_rest(const QWidget& root)
{
    QCoreApplication::processEvents(); // delivers the changes that were just made
    QStringList busy;
    const bool rests = eventually([&] {
        busy.clear();
        at_rest::find_busy<ChatView>(root, busy);
        at_rest::find_busy<RetentionView>(root, busy);
        at_rest::find_busy<DocumentView>(root, busy);
        at_rest::find_busy<ModelBar>(root, busy);
        at_rest::find_busy<QAbstractAnimation>(root, busy);
        return busy.isEmpty();
    });
    if (!rests) qWarning("still busy: %s", qPrintable(busy.join(QStringLiteral(", "))));
    return rests;
}

} // namespace palimpsest::ui::test
