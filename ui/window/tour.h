// A guided tour in steps: a card above the central area, and an outline around the area that the current step
// describes.
//
// The card has its own place in the layout and covers nothing. When the user completes the task of a step, the tour
// advances but neither shows another area nor takes the focus, because the user looks at the result. Keyboard:
// Enter or Right advances, Left goes back, Escape ends the tour. The window stays usable during the tour.
#pragma once

#include <QFrame>
#include <QPointer>
#include <functional>
#include <vector>

class QLabel;
class QPushButton;

namespace palimpsest::ui {

struct TourArea {
    std::function<QWidget*()> find{}; // returns null while the area is not visible
    std::function<void()> show{};
};

enum class TourTask { None, Read, Ask };

struct TourStep {
    QString title, text;
    TourArea area{};                // the area that the text describes; empty: the whole window
    TourTask task = TourTask::None; // its completion advances the tour
    QString offer{};                // label of the step's button; empty: "Show it", only while the area is hidden
    std::function<void()> do_offer{};
};

class Tour : public QFrame {
    Q_OBJECT
public:
    // `window` contains the areas. The caller adds the card to a layout.
    Tour(QWidget* window, std::vector<TourStep> steps);
    ~Tour() override;

    void begin();
    void next(); // after the last step: ends the tour
    void back();
    void leave();
    void complete(TourTask task);
    void refresh_area();               // call when the visibility of an area may have changed
    int step() const { return step_; } // -1: the tour is not running
    int steps() const { return static_cast<int>(steps_.size()); }
    QRect outlined() const; // in window coordinates; empty: nothing is outlined

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
    bool handle_key(int key); // false: not a key of the tour

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
