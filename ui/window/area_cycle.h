// F6: from one area of the window to the next, to where the focus was in it last.
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

    void add(QWidget* area); // in the order of going through them
    void go(int direction);  // 1: next, -1: before; areas that are not shown are passed over
    void focus(QWidget* area);

private:
    void note_focus(QWidget* now);

    std::vector<QPointer<QWidget>> areas_;
    QHash<QWidget*, QPointer<QWidget>> last_; // by area
};

} // namespace palimpsest::ui
