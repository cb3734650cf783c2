#include "ui/document/document_view.h"

#include <QClipboard>
#include <QGuiApplication>
#include <QPainter>
#include <QStyle>
#include <algorithm>
#include <cmath>

#include "ui/base/quantity.h"
#include "ui/document/token_scroll_bar.h"

namespace palimpsest::ui {

DocumentView::DocumentView(QWidget* parent) : QAbstractScrollArea(parent), scroll_bar_(new TokenScrollBar(this))
{
    install_accessibility();
    setFocusPolicy(Qt::StrongFocus);
    setAccessibleName(tr("Document"));
    setAccessibleDescription(tr("The text as it was read, shaded by how much of it is still held"));
    setVerticalScrollBar(scroll_bar_);
    setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
    setVerticalScrollBarPolicy(Qt::ScrollBarAlwaysOn);
    setFrameShape(QFrame::NoFrame);
    viewport()->setMouseTracking(true);
    viewport()->setCursor(Qt::IBeamCursor);
    viewport()->setBackgroundRole(QPalette::Base);
    scroll_bar_->setAccessibleName(tr("Place in the document"));
    connect(scroll_bar_, &TokenScrollBar::token_wanted, this, [this](quint64 token) {
        if (!laying_out_) jump_to(token);
    });
    connect(scroll_bar_, &TokenScrollBar::lines_wanted, this,
            [this](int lines) { scroll_by(lines * layout_.column().line_height()); });
    connect(scroll_bar_, &TokenScrollBar::pages_wanted, this,
            [this](int pages) { scroll_by(pages * (viewport()->height() - layout_.column().line_height())); });
    connect(&drag_, &DragScroll::scrolled, this, [this](qreal pixels, QPointF edge) {
        scroll_by(pixels);
        caret_.move_to(boundary_at(edge), true);
        viewport()->update();
        Q_EMIT selection_changed();
    });
    connect(&flash_, &RangeFlash::changed, viewport(), [this] { viewport()->update(); });
    refresh_shades();
    layout_.set_column({font(), viewport()->size()});
    scroll_bar_->set_visible_range({}, 0, 0);
}

DocumentView::~DocumentView() = default;

// ---- what is shown

void DocumentView::set_source(std::shared_ptr<TextSource> source)
{
    if (source_) source_->disconnect(this);
    Q_EMIT copying(1);
    source_ = std::move(source);
    layout_.set_source(source_.get());
    retention_.set_time(nullptr, 0, 0);
    reset_view();
    if (source_) {
        connect(source_.get(), &TextSource::page_arrived, this, [this] {
            if (!layout_.is_complete()) lay_out();
        });
        connect(source_.get(), &TextSource::outline_changed, this, &DocumentView::take_outline);
        connect(source_.get(), &TextSource::fetched, this, &DocumentView::take_excerpt);
    }
    lay_out();
    Q_EMIT selection_changed();
}

void DocumentView::take_outline(bool is_another)
{
    layout_.set_source(source_.get());
    if (is_another) {
        stop_copying();
        reset_view();
    }
    caret_.limit(source_->tokens());
    lay_out();
    Q_EMIT selection_changed();
}

// Resets the view to the top without a selection, for a new text.
void DocumentView::reset_view()
{
    layout_.go_to_start();
    caret_.select({});
    marks_.matches.clear(), marks_.current_match.reset();
    flash_.forget();
}

void DocumentView::set_kept(std::shared_ptr<const engine::RetentionMap> kept)
{
    retention_.set_kept(std::move(kept));
    viewport()->update();
}

void DocumentView::set_time(std::shared_ptr<const FadeIndex> index, int step, uint64_t tokens_read)
{
    retention_.set_time(std::move(index), step, tokens_read);
    viewport()->update();
}

void DocumentView::refresh_shades()
{
    shading_.table = ShadeTable(colors_ ? colors_ : default_shades(palette()), palette());
    viewport()->update();
}

void DocumentView::set_shades(ShadeColors colors)
{
    colors_ = std::move(colors);
    refresh_shades();
}

void DocumentView::set_shaded(bool shaded)
{
    shading_.shaded = shaded;
    viewport()->update();
}

void DocumentView::set_underlined(bool underlined)
{
    shading_.underlined = underlined;
    viewport()->update();
}

void DocumentView::set_pins(std::vector<StreamRange> pins)
{
    marks_.pins = std::move(pins);
    viewport()->update();
}

void DocumentView::set_highlights(std::vector<Highlight> highlights)
{
    marks_.highlights = std::move(highlights);
    viewport()->update();
}

void DocumentView::set_matches(std::vector<StreamRange> matches)
{
    marks_.matches = std::move(matches);
    viewport()->update();
}

void DocumentView::set_current_match(std::optional<StreamRange> match)
{
    marks_.current_match = match;
    viewport()->update();
}

QString DocumentView::describe(uint64_t token) const
{
    QStringList lines;
    const QString text = layout_.token_text(token).trimmed();
    const QString number = count_text(token);
    lines += text.isEmpty() ? tr("Token %1").arg(number) : tr("Token %1: %2").arg(number, text);
    if (const QString place = source_ ? source_->outline().place_name(token) : QString(); !place.isEmpty())
        lines += place;
    lines += retention_.sentences(token);
    const auto has = [&](StreamRange range) { return token >= range.first && token < range.last; };
    if (std::ranges::any_of(marks_.pins, has)) lines += tr("pinned");
    for (const Highlight& highlight : marks_.highlights)
        if (has(highlight.range) && !highlight.label.isEmpty()) lines += highlight.label;
    return lines.join(u'\n');
}

// ---- layout

void DocumentView::lay_out()
{
    if (laying_out_) return;
    laying_out_ = true;
    layout_.set_column({font(), viewport()->size()});
    layout_.lay_out();
    scroll_bar_->set_visible_range(layout_.visible_range(), layout_.place().token, source_ ? source_->tokens() : 0);
    laying_out_ = false;
    viewport()->update();
    Q_EMIT scrolled();
}

void DocumentView::jump_to(uint64_t token)
{
    if (!source_ || source_->tokens() == 0) return;
    layout_.go_to(std::min(token, source_->tokens() - 1));
    lay_out();
}

void DocumentView::scroll_by(qreal pixels)
{
    if (!source_) return;
    layout_.scroll_by(pixels);
    lay_out();
    layout_.snap_to_first_line();
}

void DocumentView::show_range(StreamRange range)
{
    if (!source_ || range.first >= source_->tokens()) return;
    layout_.go_to(range.first, std::floor(viewport()->height() / 3.0));
    lay_out();
    flash_.start(range, style()->styleHint(QStyle::SH_Widget_Animation_Duration, nullptr, this));
}

void DocumentView::ensure_visible(uint64_t token)
{
    if (!source_ || source_->tokens() == 0) return;
    token = std::min(token, source_->tokens() - 1);
    if (!layout_.item_of(token)) {
        layout_.go_near(token);
        return lay_out();
    }
    if (const qreal pixels = layout_.distance_to(token); pixels != 0) scroll_by(pixels);
}

void DocumentView::paintEvent(QPaintEvent*)
{
    QPainter painter(viewport());
    const DocumentPicture picture{.layout = layout_,
                                  .outline = source_ ? &source_->outline() : nullptr,
                                  .retention = retention_,
                                  .shading = shading_,
                                  .marks = marks_,
                                  .flash = flash_,
                                  .selection = selection(),
                                  .caret = hasFocus() ? std::optional(caret()) : std::nullopt,
                                  .palette = palette()};
    DocumentPainter(painter, *viewport(), picture).paint();
}

void DocumentView::resizeEvent(QResizeEvent* event)
{
    QAbstractScrollArea::resizeEvent(event);
    if (event->size().width() != event->oldSize().width()) layout_.forget();
    lay_out();
}

void DocumentView::changeEvent(QEvent* event)
{
    QAbstractScrollArea::changeEvent(event);
    if (event->type() == QEvent::FontChange || event->type() == QEvent::StyleChange) {
        layout_.forget();
        lay_out();
    }
    if (event->type() == QEvent::PaletteChange || event->type() == QEvent::StyleChange) refresh_shades();
}

// ---- selection

void DocumentView::select(StreamRange range)
{
    caret_.select(range);
    caret_.limit(source_ ? source_->tokens() : 0);
    viewport()->update();
    Q_EMIT selection_changed();
}

void DocumentView::set_caret(uint64_t token, bool extend)
{
    const StreamRange before = selection();
    caret_.move_to(std::min(token, source_ ? source_->tokens() : 0), extend);
    ensure_visible(caret());
    viewport()->update();
    if (selection() != before) Q_EMIT selection_changed();
    Q_EMIT caret_moved();
}

void DocumentView::copy()
{
    if (source_ && caret_.has_selection()) source_->fetch(selection());
}

void DocumentView::stop_copying()
{
    if (source_) source_->fetch({});
    Q_EMIT copying(1);
}

void DocumentView::take_excerpt(const Excerpt& excerpt)
{
    if (!excerpt.text.isEmpty()) QGuiApplication::clipboard()->setText(excerpt.text);
    Q_EMIT copying(excerpt.finished ? 1 : excerpt.share);
}

} // namespace palimpsest::ui
