// A walk through the window in some steps: a card above the middle of the window, and a line around the area that
// it speaks of.
//
// The card has a place of its own in the layout: it never covers anything. A step whose task is done goes on by
// itself; it then shows nothing and takes no focus, for the user is looking at what was asked for. All of it by
// keyboard: Enter or Right goes on, Left goes back, Escape leaves. The window stays usable meanwhile.
#pragma once

#include <QFrame>
#include <QPointer>
#include <functional>
#include <vector>

class QLabel;
class QPushButton;

namespace palimpsest::ui {

struct TourArea {
    std::function<QWidget*()> find{}; // null: it is not seen
    std::function<void()> show{};
};

enum class TourTask { None, Read, Ask };

struct TourStep {
    QString title, text;
    TourArea area{};                // what it speaks of; empty: the whole window
    TourTask task = TourTask::None; // when this is done, so is the step
    QString offer{};                // what the user may do in this step; empty: to see its area
    std::function<void()> do_offer{};
};

class Tour : public QFrame {
    Q_OBJECT
public:
    // `window` has the areas; the card goes where its owner puts it.
    Tour(QWidget* window, std::vector<TourStep> steps);
    ~Tour() override;

    void begin();
    void next(); // behind the last it is finished
    void back();
    void leave();
    void complete(TourTask task);
    void look_again();                 // which areas are seen has changed
    int step() const { return step_; } // -1: it is not under way
    int steps() const { return static_cast<int>(steps_.size()); }
    QRect outlined() const; // of the window; empty: nothing

protected:
    bool event(QEvent* event) override;
    void keyPressEvent(QKeyEvent* event) override;
    bool eventFilter(QObject* watched, QEvent* event) override;
    void paintEvent(QPaintEvent* event) override;

private:
    class Outline;

    void show_step(int step);
    void go_on_to(int step);
    void write_step();
    void focus_step();
    void take_offer();
    bool has_focus() const;
    bool obey(int key); // false: it is no key of the tour's

    QWidget* window_;
    std::vector<TourStep> steps_;
    std::vector<TourTask> done_;
    int step_ = -1;
    QPointer<QWidget> area_, focus_before_;
    QPointer<Outline> outline_;
    QLabel *count_, *title_, *text_;
    QPushButton *offer_, *back_, *next_, *leave_;
};

} // namespace palimpsest::ui
