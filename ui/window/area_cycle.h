// F6 cycles the focus through the areas of the window; each area remembers its last focused widget.
#pragma once

#include <QHash>
#include <QObject>
#include <QPointer>
#include <vector>

class QWidget;

namespace palimpsest::ui {

class AreaCycle : public QObject {
    Q_OBJECT
public:
    explicit AreaCycle(QObject* parent);

    void add(QWidget* area); // appends to the cycle
    void go(int direction);  // 1: next, -1: previous; skips hidden areas
    void focus(QWidget* area);

private:
    void note_focus(QWidget* now);

    std::vector<QPointer<QWidget>> areas_;
    QHash<QWidget*, QPointer<QWidget>> last_; // by area
};

} // namespace palimpsest::ui
