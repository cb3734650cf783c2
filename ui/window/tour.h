// A walk through the window in some steps: a card beside the area that it speaks of, which is outlined.
//
// All of it by keyboard: Enter or Right goes on, Left goes back, Escape leaves. The window stays usable meanwhile.
#pragma once

#include <QFrame>
#include <QPointer>
#include <functional>
#include <vector>

class QLabel;
class QPushButton;

namespace palimpsest::ui {

struct TourStep {
    QString title, text;
    std::function<QWidget*()> area{}; // what it speaks of, shown when this is called; null: the whole window
    QString offer{};                  // what the user may do in this step; empty: nothing
    std::function<void()> do_offer{};
};

class Tour : public QFrame {
    Q_OBJECT
public:
    Tour(QWidget* window, std::vector<TourStep> steps);
    ~Tour() override;

    void begin();
    void next(); // behind the last it is finished
    void back();
    void leave();
    int step() const { return step_; } // -1: it is not under way
    int steps() const { return static_cast<int>(steps_.size()); }

Q_SIGNALS:
    void step_changed(int step);
    void ended(bool complete);

protected:
    bool event(QEvent* event) override;
    void keyPressEvent(QKeyEvent* event) override;
    bool eventFilter(QObject* watched, QEvent* event) override;
    void paintEvent(QPaintEvent* event) override;

private:
    class Outline;

    void show_step(int step);
    void end(bool complete);
    void place();
    bool obey(int key); // false: it is no key of the tour's

    QWidget* window_;
    std::vector<TourStep> steps_;
    int step_ = -1;
    QPointer<QWidget> area_, focus_before_;
    QPointer<Outline> outline_;
    QLabel *count_, *title_, *text_;
    QPushButton *offer_, *back_, *next_, *leave_;
};

} // namespace palimpsest::ui
