// The time bar: a slider over the past of the stream, with play and pause, to replay how tokens were evicted.
#pragma once

#include <QTimer>
#include <QWidget>
#include <memory>

#include "ui/document/fade_index.h"

class QLabel;
class QSlider;
class QToolButton;

namespace palimpsest::ui {

class TimeBar : public QWidget {
    Q_OBJECT
public:
    explicit TimeBar(QWidget* parent = nullptr);

    // Null: there is no record, and the bar is disabled. A slider at its end stays at the end.
    void set_index(std::shared_ptr<const FadeIndex> index);
    void set_failed(const QString& sentence);
    std::shared_ptr<const FadeIndex> index() const { return index_; }
    int step() const;
    bool is_now() const; // whether the slider is at its end: then the view shows the newest state
    uint64_t tokens_read() const;
    void set_step(int step);
    void play(bool on);
    bool is_playing() const { return playing_.isActive(); }

Q_SIGNALS:
    void time_changed();

protected:
    void changeEvent(QEvent* event) override;

private:
    void say();
    void advance();
    QIcon play_icon() const;

    std::shared_ptr<const FadeIndex> index_;
    QToolButton* play_;
    QToolButton* now_;
    QSlider* slider_;
    QLabel* label_;
    QTimer playing_;
};

} // namespace palimpsest::ui
