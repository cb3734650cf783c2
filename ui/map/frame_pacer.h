// Limits how often a picture is rendered: at most 30 times a second, however often its content changes.
#pragma once

#include <QElapsedTimer>
#include <QTimer>

namespace palimpsest::ui {

class FramePacer : public QObject {
    Q_OBJECT
public:
    explicit FramePacer(QObject* parent = nullptr);

    void invalidate();         // the picture is out of date; due() follows
    void invalidate_at_once(); // the same, but may_render() is true at once: for a change of size
    void rendered();           // call after each rendering

    bool is_current() const { return current_; }
    bool may_render() const { return !current_ && !since_rendered_.isValid(); }
    uint64_t frames() const { return frames_; } // rendered so far

Q_SIGNALS:
    void due(); // the picture may be rendered now

private:
    bool current_ = false;
    QTimer later_;
    QElapsedTimer since_rendered_; // invalid: a frame may be rendered at once
    uint64_t frames_ = 0;
};

} // namespace palimpsest::ui
