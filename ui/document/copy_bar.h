// Progress bar with a cancel button; visible while a long passage is copied.
#pragma once

#include <QWidget>

class QProgressBar;

namespace palimpsest::ui {

class CopyBar : public QWidget {
    Q_OBJECT
public:
    explicit CopyBar(QWidget* parent = nullptr);

    void set_share(double share); // 1 hides the bar

Q_SIGNALS:
    void cancelled();

private:
    QProgressBar* bar_;
};

} // namespace palimpsest::ui
