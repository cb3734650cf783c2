// The button at the bottom of a chat that leads to its end.
#pragma once

#include <QToolButton>

namespace palimpsest::ui {

class JumpButton : public QToolButton {
    Q_OBJECT
public:
    explicit JumpButton(QWidget* viewport); // the button is hidden at first

    void show_above(int margin); // centred, `margin` pixels above the bottom of the viewport
};

} // namespace palimpsest::ui
