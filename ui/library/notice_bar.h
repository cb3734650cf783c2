// A sentence with a button beside it, as wide as the library; hidden until there is something to say.
#pragma once

#include <QFrame>

class QLabel;
class QPushButton;

namespace palimpsest::ui {

class NoticeBar : public QFrame {
    Q_OBJECT
public:
    // `symbol`: as in icon().
    NoticeBar(const char* symbol, const QString& button, QWidget* parent);

    void show_text(const QString& text); // empty: hides the bar
    QPushButton& button() { return *button_; }

private:
    QLabel* text_;
    QPushButton* button_;
};

} // namespace palimpsest::ui
