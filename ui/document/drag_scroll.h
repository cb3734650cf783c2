// Scrolling while the mouse is held above or below a viewport: by half its distance at each tick of a timer.
#pragma once

#include <QPoint>
#include <QTimer>

namespace palimpsest::ui {

class DragScroll : public QObject {
    Q_OBJECT
public:
    explicit DragScroll(QObject* parent = nullptr);

    void begin(QPoint at);
    // Stops scrolling and returns true if `at` is inside the viewport; scrolls on and returns false above or below
    // it.
    bool move_to(QPoint at, int viewport_height);
    void end();
    bool is_active() const { return active_; } // between begin() and end()

Q_SIGNALS:
    void scrolled(qreal pixels, QPointF edge); // positive: down; `edge`: the mouse, moved into the viewport

private:
    void scroll();

    bool active_ = false;
    QPoint at_;
    int height_ = 0;
    QTimer timer_;
};

} // namespace palimpsest::ui
