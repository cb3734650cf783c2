// Arranges a text of any length in a viewport: finds the visible blocks and their positions. Only visible blocks
// are laid out, so that the cost depends on the height of the viewport and not on the length of the text.
//
// The scroll position is a token and the y of its line. Positions are pixels from the top left of the viewport. Not
// a widget: after a change of place, source or column, call lay_out().
#pragma once

#include <QPointF>
#include <QRect>
#include <QString>
#include <optional>
#include <vector>

#include "ui/document/item_cache.h"

namespace palimpsest::ui {

class DocumentLayout {
public:
    struct Place { // scroll position: the line of `token` is at `y`
        uint64_t token = 0;
        qreal y = 0;
        bool operator==(const Place&) const = default;
    };

    // Null: no text is open. Forgets all layouts; the place stays. `source` must outlive the layout or its next
    // set_source(). Call it again when the outline of the source has changed.
    void set_source(TextSource* source);
    void set_column(const TextColumn& column); // for blocks laid out from now on
    const TextColumn& column() const { return items_.column(); }
    void forget(); // discards all layouts; call after a change of width or font

    void lay_out();
    bool is_complete() const { return complete_; } // all visible text is loaded
    // From top to bottom; valid until the next lay_out() or forget().
    const std::vector<DocumentItem*>& visible() const { return visible_; }
    // y beyond which the text is missing because its pages are not loaded yet; may be outside the viewport.
    std::optional<qreal> missing_above() const { return missing_above_; }
    std::optional<qreal> missing_below() const { return missing_below_; }
    StreamRange visible_range() const; // in tokens; empty while nothing is laid out

    // ---- the scroll position
    const Place& place() const { return place_; }
    void go_to_start();
    void go_to(uint64_t token); // puts its line at the top, below any caption
    void go_to(uint64_t token, qreal y) { place_ = {token, y}; }
    void go_near(uint64_t token); // puts its line at the edge nearer to it. REQUIRES: the token is not visible.
    void scroll_by(qreal pixels) { place_.y -= pixels; } // positive: down
    void snap_to_first_line();                           // makes the first visible line the scroll position
    // Pixels to scroll by until the line of a visible token is completely in the viewport.
    qreal distance_to(uint64_t token) const;

    // ---- where items and tokens are drawn
    const DocumentItem* item_at(qreal y) const;            // the first that ends below y, else the last; null: none
    const DocumentItem* item_of(uint64_t token) const;     // that shows the token; null: none does
    std::optional<uint64_t> token_at(QPoint at) const;     // none outside the text
    std::optional<uint64_t> boundary_at(QPointF at) const; // between tokens; none if nothing is visible
    QRect rect_of(uint64_t token) const;                   // empty if not visible
    // Caret positions for Home and End, when the caret is before `token`; none if its line is not visible.
    std::optional<uint64_t> line_start(uint64_t token) const;
    std::optional<uint64_t> line_end(uint64_t token) const;

    // ---- text of visible tokens, as displayed
    QString token_text(uint64_t token) const; // empty if not visible
    QString paragraph(uint64_t token) const;  // the block with the token; empty if not visible
    // Returns the beginning of the visible part of a range: at least `characters` characters, if it has as many.
    QString beginning_of(StreamRange range, int characters) const;
    QString visible_text() const; // the visible blocks, with a line end between them

private:
    DocumentItem* laid_item(uint64_t token);
    qreal place_down(qreal y, uint64_t token);
    qreal place_up(qreal y, uint64_t token);
    void clamp();
    void move_all(qreal dy);

    TextSource* source_ = nullptr;
    ItemCache items_;
    Place place_;
    bool complete_ = false;
    std::vector<DocumentItem*> visible_;
    std::optional<qreal> missing_above_, missing_below_;
};

} // namespace palimpsest::ui
