// The caret of a text and the selection that ends at it, in tokens.
#pragma once

#include <QtGlobal>
#include <algorithm>
#include <optional>

#include "ui/engine/session_facts.h"

namespace palimpsest::ui {

class DocumentCaret {
public:
    uint64_t token() const { return token_; } // the token behind the caret
    StreamRange selection() const { return {std::min(token_, anchor_), std::max(token_, anchor_)}; }
    bool has_selection() const { return token_ != anchor_; }

    void move_to(uint64_t token, bool extend) // extend: moves only the end of the selection that is at the caret
    {
        token_ = token;
        if (!extend) anchor_ = token;
    }
    void select(StreamRange range) { anchor_ = range.first, token_ = range.last; }
    void limit(uint64_t tokens) { anchor_ = std::min(anchor_, tokens), token_ = std::min(token_, tokens); }

    // Returns the x that the caret keeps while it moves by lines: that of the first call after forget_x(), when it
    // was `now`.
    qreal line_x(qreal now)
    {
        if (!x_) x_ = now;
        return *x_;
    }
    void forget_x() { x_.reset(); }

private:
    uint64_t token_ = 0, anchor_ = 0;
    std::optional<qreal> x_;
};

} // namespace palimpsest::ui
