// The blinking of the cursor at the end of a growing answer; with reduced motion, the cursor is always lit.
#pragma once

#include <QTimer>

namespace palimpsest::ui {

class CursorBlink : public QObject {
    Q_OBJECT
public:
    explicit CursorBlink(bool reduced_motion, QObject* parent = nullptr);

    void start();
    void stop();
    void set_reduced_motion(bool reduced);
    bool is_lit() const { return lit_ || reduced_motion_; }

Q_SIGNALS:
    void changed();

private:
    QTimer timer_;
    bool lit_ = true, runs_ = false, reduced_motion_;
};

} // namespace palimpsest::ui
