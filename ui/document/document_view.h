// Shows the text of a stream of any length, with each token shaded by how much of it is still kept.
//
// The view has its own viewport: only visible blocks are laid out, so that the cost depends on the size of the
// viewport and not on the length of the text. The scroll position is a token and the y of its line; the scroll bar
// counts tokens.
#pragma once

#include <QAbstractScrollArea>
#include <QElapsedTimer>
#include <QPointer>
#include <QTimer>
#include <QVariantAnimation>
#include <memory>
#include <optional>
#include <unordered_map>
#include <vector>

#include "ui/document/fading_index.h"
#include "ui/document/shading.h"
#include "ui/document/text_block.h"

namespace palimpsest::ui {

struct DocumentItem; // a block that is laid out

struct Highlight {
    StreamRange range;
    double weight = 0; // share of the answer's attention
    QString label;     // shown in the tooltip
};

class DocumentView : public QAbstractScrollArea {
    Q_OBJECT
public:
    explicit DocumentView(QWidget* parent = nullptr);
    ~DocumentView() override;

    // Null: no text is open. Pins and highlights stay as set.
    void set_source(std::shared_ptr<TextSource> source);
    TextSource* source() const { return source_.get(); }
    void set_kept(std::shared_ptr<const engine::RetentionMap> kept); // null: unknown
    const engine::RetentionMap* kept() const { return kept_.get(); }
    // Shows the past state of `index` at `step`; null shows the present.
    void set_time(std::shared_ptr<const FadeIndex> index, int step, uint64_t tokens_read);
    void set_shades(ShadeColors colors); // empty: default_shades of the palette
    void set_shaded(bool shaded);
    void set_underlined(bool underlined); // a line under each token; thickness shows the share that is kept
    void set_pins(std::vector<StreamRange> pins);
    void set_highlights(std::vector<Highlight> highlights);
    void set_matches(std::vector<StreamRange> matches); // ascending
    void set_current_match(std::optional<StreamRange> match);

    void jump_to(uint64_t token); // scrolls its line to the top, if enough text follows
    // Scrolls a range into view, with a fading frame (a constant one if motion is reduced).
    void show_range(StreamRange range);
    void scroll_by(qreal pixels);      // positive: down
    StreamRange visible_range() const; // in tokens; empty while nothing is laid out
    uint64_t top_token() const { return place_.token; }
    bool is_complete() const { return complete_; } // all visible text is loaded
    bool is_flashing() const { return flash_.has_value(); }

    void select(StreamRange range);
    StreamRange selection() const; // half-open; empty if nothing is selected
    uint64_t caret() const { return caret_; }
    void set_caret(uint64_t token, bool extend = false); // places it before `token` and scrolls it into view
    // Copies the selection to the clipboard when all of it is read; until then, `copying` reports progress.
    void copy();
    void stop_copying(); // leaves the clipboard unchanged

    std::optional<uint64_t> token_at(QPoint viewport_position) const;
    QRect rect_of(uint64_t token) const;      // in the viewport; empty if not visible
    double share_of(uint64_t token) const;    // share shown by the shade: of lists now, of layers in the past
    QString token_text(uint64_t token) const; // as displayed; empty if not visible
    QString describe(uint64_t token) const;   // which lists keep it, rank, age, pins
    QString paragraph(uint64_t token) const;  // of a visible token
    // Returns the beginning of the visible part of a range: at least `characters` characters, if it has as many.
    QString beginning_of(StreamRange range, int characters) const;

    // The visible text as one string, for assistive technology, with a line end between blocks.
    QString visible_text() const;
    int offset_of(uint64_t token) const; // in visible_text; -1 if not visible
    uint64_t token_at_offset(int offset) const;
    QRect rect_at_offset(int offset) const;

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
    struct Place { // scroll position: the line of `token` is at `y`
        uint64_t token = 0;
        qreal y = 0;
    };

    // ---- accessibility (document_accessible.cpp)
    static void install_accessibility(); // for the whole program; may be called again

    // ---- layout (document_view.cpp)
    void reset_view();
    void forget_layout();
    void lay_out();
    DocumentItem* item_of(uint64_t token);
    std::unique_ptr<DocumentItem> make_item(TextBlock block) const;
    bool place_items();
    qreal place_down(qreal y, uint64_t token);
    qreal place_up(qreal y, uint64_t token);
    void clamp();
    void move_all(qreal dy);
    void settle();
    void forget_far_items();
    void update_scroll_bar();
    void scroll_bar_moved(int value);
    void scroll_bar_action(int action);
    qreal line_height() const;
    qreal text_left() const;
    qreal text_width() const;
    const DocumentItem* item_at(qreal y) const;
    const DocumentItem* visible_item(uint64_t token) const;
    uint64_t boundary_at(QPointF position) const;
    void ensure_visible(uint64_t token);
    void take_outline(bool is_another);
    void take_excerpt(const Excerpt& excerpt);

    // ---- painting (document_painting.cpp)
    void refresh_shades();
    std::vector<double> shares(StreamRange range) const;
    uint64_t tokens_read() const;
    void paint_item(QPainter& painter, DocumentItem& item);
    void paint_backgrounds(QPainter& painter, DocumentItem& item, const std::vector<double>& shares,
                           std::vector<std::pair<QColor, QRegion>>& inks);
    void paint_frames(QPainter& painter, DocumentItem& item, StreamRange range, const QColor& color, qreal width);
    void paint_marks(QPainter& painter, DocumentItem& item);
    void paint_caption(QPainter& painter, const DocumentItem& item);
    void paint_placeholders(QPainter& painter);
    void paint_caret(QPainter& painter);
    void paint_empty(QPainter& painter);
    QString caption_of(const DocumentItem& item) const;

    // ---- keys and mouse (document_input.cpp)
    bool move_caret(QKeyEvent* event);
    void move_line(int lines, bool extend);
    void move_page(int pages, bool extend);
    void scroll_while_dragging();

    std::shared_ptr<TextSource> source_;
    std::unique_ptr<BlockReader> reader_;
    std::shared_ptr<const engine::RetentionMap> kept_;
    std::shared_ptr<const FadeIndex> past_;
    int past_step_ = 0;
    uint64_t past_tokens_ = 0;
    ShadeColors colors_;
    ShadeTable shades_;
    bool shaded_ = true, underlined_ = false;
    std::vector<StreamRange> pins_, matches_;
    std::vector<Highlight> highlights_;
    std::optional<StreamRange> current_match_, flash_;

    Place place_;
    bool complete_ = false;
    bool laying_out_ = false;
    std::unordered_map<uint64_t, std::unique_ptr<DocumentItem>> items_; // by first token
    std::vector<DocumentItem*> visible_;                                // from top to bottom
    // y where the text ends because pages are not loaded yet; may lie outside the viewport.
    std::optional<qreal> missing_above_, missing_below_;

    uint64_t caret_ = 0, selection_anchor_ = 0;
    std::optional<qreal> caret_x_; // x kept while the caret moves by lines
    bool dragging_ = false;
    QPoint drag_position_;
    QTimer drag_timer_;
    QVariantAnimation flashing_;
    QTimer flash_end_;
};

} // namespace palimpsest::ui
