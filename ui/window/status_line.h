// The status line: current activity, progress, cache memory, and a cancel button.
#pragma once

#include <QWidget>

#include "ui/engine/frame.h"
#include "ui/engine/session_facts.h"

class QLabel;
class QProgressBar;
class QToolButton;

namespace palimpsest::ui {

// "Reading 61 % · 78,204 / 128,000 tokens · 4,120 tok/s · 41 s left"
QString activity_text(const Frame& frame);
// "cache 96 MB of 6.1 GB full"; empty: there is no cache.
QString cache_text(const engine::Telemetry& telemetry);

// "48,877 of 48,877 tokens read · treekv"; null: no session is open.
QString idle_text(const SessionFacts* facts);

class StatusLine : public QWidget {
    Q_OBJECT
public:
    explicit StatusLine(QWidget* parent = nullptr);

    void set_frame(const Frame& frame);
    void set_session(const SessionFacts* facts); // described while the engine is idle; null: no session is open

Q_SIGNALS:
    void cancel_wanted();

private:
    QLabel *activity_, *cache_;
    QProgressBar* bar_;
    QToolButton* cancel_;
    QString idle_text_;
    bool is_idle_ = true;
};

} // namespace palimpsest::ui
