// Shows the text of a stream of any length, with each token shaded by how much of it is still kept.
//
// The view has its own viewport: only visible blocks are laid out (document_layout.h), so that the cost depends on
// the size of the viewport and not on the length of the text. The scroll bar counts tokens.
#pragma once

#include <QAbstractScrollArea>
#include <memory>
#include <optional>
#include <vector>

#include "ui/document/document_caret.h"
#include "ui/document/document_layout.h"
#include "ui/document/document_marks.h"
#include "ui/document/document_painter.h"
#include "ui/document/drag_scroll.h"
#include "ui/document/range_flash.h"
#include "ui/document/token_retention.h"

namespace palimpsest::ui {

class TokenScrollBar;

class DocumentView : public QAbstractScrollArea {
    Q_OBJECT
public:
    explicit DocumentView(QWidget* parent = nullptr);
    ~DocumentView() override;

    // Null: no text is open. Pins and highlights stay as set.
    void set_source(std::shared_ptr<TextSource> source);
    TextSource* source() const { return source_.get(); }
    void set_kept(std::shared_ptr<const engine::RetentionMap> kept); // null: unknown
    // Shows the past state of `index` at `step`. Null: shows the newest state.
    void set_time(std::shared_ptr<const FadeIndex> index, int step, uint64_t tokens_read);
    void set_shades(ShadeColors colors); // empty: default_shades of the palette
    void set_shaded(bool shaded);
    void set_underlined(bool underlined); // draws a line under each token, thicker the more lists keep it
    void set_pins(std::vector<StreamRange> pins);
    void set_highlights(std::vector<Highlight> highlights);
    void set_matches(std::vector<StreamRange> matches); // ascending
    void set_current_match(std::optional<StreamRange> match);

    // Positions of all visible lines. Valid until the next event, which may scroll or change the layout.
    const DocumentLayout& text_layout() const { return layout_; }
    const TokenRetention& retention() const { return retention_; }
    QString describe(uint64_t token) const; // says which lists keep it, its rank and age, and whether it is pinned

    void jump_to(uint64_t token); // scrolls its line to the top, if enough text follows
    // Scrolls a range into view, with a fading frame (a constant one if motion is reduced).
    void show_range(StreamRange range);
    void scroll_by(qreal pixels); // positive: down
    bool is_flashing() const { return flash_.range().has_value(); }

    void select(StreamRange range);
    StreamRange selection() const { return caret_.selection(); } // half-open; empty if nothing is selected
    uint64_t caret() const { return caret_.token(); }
    void set_caret(uint64_t token, bool extend = false); // places it before `token` and scrolls it into view
    // Copies the selection to the clipboard once its whole text is loaded; until then, `copying` reports progress.
    void copy();
    void stop_copying(); // leaves the clipboard unchanged

Q_SIGNALS:
    void scrolled();
    void selection_changed();
    void caret_moved();
    void token_pointed(quint64 token);
    void copying(double share); // progress of a long copy; 1: finished or cancelled
    void menu_wanted(QPoint global);

protected:
    bool event(QEvent* event) override;
    void paintEvent(QPaintEvent* event) override;
    void resizeEvent(QResizeEvent* event) override;
    void changeEvent(QEvent* event) override;
    void keyPressEvent(QKeyEvent* event) override;
    void wheelEvent(QWheelEvent* event) override;
    void mousePressEvent(QMouseEvent* event) override;
    void mouseMoveEvent(QMouseEvent* event) override;
    void mouseReleaseEvent(QMouseEvent* event) override;
    void mouseDoubleClickEvent(QMouseEvent* event) override;
    void contextMenuEvent(QContextMenuEvent* event) override;
    void focusInEvent(QFocusEvent* event) override;
    void focusOutEvent(QFocusEvent* event) override;
    bool viewportEvent(QEvent* event) override;

private:
    // ---- accessibility (document_accessible.cpp)
    static void install_accessibility(); // for the whole program; may be called again

    // ---- the text and its layout (document_view.cpp)
    void reset_view();
    void lay_out();
    void ensure_visible(uint64_t token);
    void take_outline(bool is_another);
    void take_excerpt(const Excerpt& excerpt);
    void refresh_shades();

    // ---- keys and mouse (document_input.cpp)
    bool move_caret(QKeyEvent* event);
    void move_line(int lines, bool extend);
    void move_page(int pages, bool extend);
    uint64_t boundary_at(QPointF position) const; // the position of the caret if nothing is visible

    std::shared_ptr<TextSource> source_;
    DocumentLayout layout_;
    bool laying_out_ = false;
    DocumentCaret caret_;
    TokenRetention retention_;
    DocumentMarks marks_;
    ShadeColors colors_;
    TokenShading shading_;
    RangeFlash flash_;
    DragScroll drag_;
    TokenScrollBar* scroll_bar_;
};

} // namespace palimpsest::ui
