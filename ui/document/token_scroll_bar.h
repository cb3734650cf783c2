// A vertical scroll bar whose values are token numbers of a text. For a text of more than 2^30 tokens, all values
// are scaled down.
#pragma once

#include <QScrollBar>

#include "ui/engine/session_facts.h"

namespace palimpsest::ui {

class TokenScrollBar : public QScrollBar {
    Q_OBJECT
public:
    explicit TokenScrollBar(QWidget* parent = nullptr);

    // Moves the slider to the range, or to `place` while nothing is visible. Emits nothing.
    void set_visible_range(StreamRange range, uint64_t place, uint64_t tokens);

Q_SIGNALS:
    void token_wanted(quint64 token);
    // The user moved by lines or pages on the screen. Positive: down.
    void lines_wanted(int lines);
    void pages_wanted(int pages);

private:
    int value_of(uint64_t token) const;
    void move_to(int value);
    void take_action(int action);

    uint64_t tokens_ = 0;
};

} // namespace palimpsest::ui
