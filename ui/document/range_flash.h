// The frame around a range that show_range() has just scrolled into view. It fades out, or disappears after a while
// if motion is reduced.
#pragma once

#include <QTimer>
#include <QVariantAnimation>
#include <optional>

#include "ui/engine/session_facts.h"

namespace palimpsest::ui {

class RangeFlash : public QObject {
    Q_OBJECT
public:
    explicit RangeFlash(QObject* parent = nullptr);

    void start(StreamRange range, int animation_ms); // animation_ms 0: motion is reduced
    void forget() { range_.reset(); }
    const std::optional<StreamRange>& range() const { return range_; }
    float opacity() const;

Q_SIGNALS:
    void changed();

private:
    std::optional<StreamRange> range_;
    QVariantAnimation fade_out_;
    QTimer end_;
};

} // namespace palimpsest::ui
