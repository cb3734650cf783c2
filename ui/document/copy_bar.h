// Says how much of a long passage was copied, and stops that. Shown only while it goes on.
#pragma once

#include <QWidget>

class QProgressBar;

namespace palimpsest::ui {

class CopyBar : public QWidget {
    Q_OBJECT
public:
    explicit CopyBar(QWidget* parent = nullptr);

    void set_share(double share); // 1: nothing is copied

Q_SIGNALS:
    void cancelled();

private:
    QProgressBar* bar_;
};

} // namespace palimpsest::ui
