// Scrolls while the mouse button is held above or below a viewport: at each timeout, by half the distance from the
// mouse to the viewport.
#pragma once

#include <QPoint>
#include <QTimer>

namespace palimpsest::ui {

class DragScroll : public QObject {
    Q_OBJECT
public:
    explicit DragScroll(QObject* parent = nullptr);

    void begin(QPoint at);
    // Inside the viewport: stops scrolling and returns true. Above or below it: scrolls and returns false.
    bool move_to(QPoint at, int viewport_height);
    void end();
    bool is_active() const { return active_; } // between begin() and end()

Q_SIGNALS:
    // Positive: down. `edge` is the mouse position, with y clamped to the viewport.
    void scrolled(qreal pixels, QPointF edge);

private:
    void scroll();

    bool active_ = false;
    QPoint at_;
    int height_ = 0;
    QTimer timer_;
};

} // namespace palimpsest::ui
