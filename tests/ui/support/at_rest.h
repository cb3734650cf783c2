// Waits until the views that load, lay out or paint asynchronously have finished.
#pragma once

#include <QAbstractAnimation>
#include <QWidget>
#include <algorithm>

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

inline bool is_seen(const QWidget& view)
{
    return view.isVisible();
}

inline bool is_seen(const QAbstractAnimation&)
{
    return true;
}

template<class View>
bool are_at_rest(const QWidget& root)
{
    const auto rests = [](const View* view) { return !is_seen(*view) || is_at_rest(*view); };
    const auto views = root.findChildren<const View*>();
    const auto* own = qobject_cast<const View*>(&root);
    return (!own || rests(own)) && std::all_of(views.begin(), views.end(), rests);
}

} // namespace at_rest

// Waits for `root` itself, the visible views below it and the animations. Returns false if the wait times out.
inline bool comes_to_rest(const QWidget& root)
{
    QCoreApplication::processEvents(); // delivers the changes that were just made
    return eventually([&] {
        return at_rest::are_at_rest<ChatView>(root) && at_rest::are_at_rest<RetentionView>(root) &&
               at_rest::are_at_rest<DocumentView>(root) && at_rest::are_at_rest<ModelBar>(root) &&
               at_rest::are_at_rest<QAbstractAnimation>(root);
    });
}

} // namespace palimpsest::ui::test
