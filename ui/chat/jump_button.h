// The button at the bottom of a chat that leads to its end.
#pragma once

#include <QToolButton>

namespace palimpsest::ui {

class JumpButton : public QToolButton {
    Q_OBJECT
public:
    explicit JumpButton(QWidget* viewport); // hidden

    void show_above(int margin); // in the middle, `margin` pixels above the bottom of the viewport
};

} // namespace palimpsest::ui
