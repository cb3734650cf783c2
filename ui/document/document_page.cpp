#include "ui/document/document_page.h"

#include <QAction>
#include <QHBoxLayout>
#include <QLabel>
#include <QLocale>
#include <QMenu>
#include <QPainter>
#include <QPushButton>
#include <QToolButton>
#include <QVBoxLayout>
#include <algorithm>

#include "ui/base/quantity.h"
#include "ui/base/theme.h"
#include "ui/document/copy_bar.h"
#include "ui/document/find_bar.h"
#include "ui/document/go_to_dialog.h"
#include "ui/document/time_bar.h"

namespace palimpsest::ui {
namespace {

constexpr int longest_label = 48;

// Legend of the shades, from "no list keeps the token" to "all lists keep it".
class ShadeLegend : public QWidget {
public:
    explicit ShadeLegend(QWidget* parent) : QWidget(parent)
    {
        setAccessibleName(DocumentPage::tr("Legend: the shade of a token says how many layers and heads hold it"));
        setToolTip(DocumentPage::tr("How many layers and heads still hold a token"));
        setSizePolicy(QSizePolicy::Fixed, QSizePolicy::Preferred);
    }
    void set_shades(ShadeColors colors)
    {
        colors_ = std::move(colors);
        update();
    }
    QSize sizeHint() const override
    {
        return {text_width(DocumentPage::tr("none")) + text_width(DocumentPage::tr("all")) + steps * cell() +
                    2 * gap(),
                fontMetrics().height() * 3 / 2};
    }

protected:
    void paintEvent(QPaintEvent*) override
    {
        QPainter painter(this);
        const ShadeTable shades(colors_ ? colors_ : default_shades(palette()), palette());
        const QString none = DocumentPage::tr("none"), all = DocumentPage::tr("all");
        painter.setPen(secondary_text(palette()));
        painter.drawText(rect(), Qt::AlignVCenter | Qt::AlignLeft, none);
        painter.drawText(rect(), Qt::AlignVCenter | Qt::AlignRight, all);
        QRect box(text_width(none) + gap(), (height() - fontMetrics().height()) / 2, cell(),
                  fontMetrics().height());
        painter.setPen(separator(palette()));
        for (int i = 0; i < steps; ++i, box.translate(cell(), 0))
            painter.fillRect(box, shades.of(static_cast<double>(i) / (steps - 1)).background);
        painter.drawRect(QRect(text_width(none) + gap(), box.top(), steps * cell() - 1, box.height() - 1));
    }

private:
    static constexpr int steps = 7;
    int cell() const { return fontMetrics().height() * 3 / 4; }
    int gap() const { return fontMetrics().height() / 3; }
    int text_width(const QString& text) const { return fontMetrics().horizontalAdvance(text); }

    ShadeColors colors_;
};

class ElidedLabel : public QLabel {
public:
    using QLabel::QLabel;

protected:
    void paintEvent(QPaintEvent*) override
    {
        QPainter painter(this);
        painter.setPen(palette().color(QPalette::WindowText));
        const QString shown = fontMetrics().elidedText(text(), Qt::ElideRight, width());
        painter.drawText(rect(), Qt::AlignVCenter | Qt::AlignLeft, shown);
    }
};

QString percent(double share)
{
    return QLocale().toString(100 * share, 'f', share < 0.1 ? 1 : 0);
}

} // namespace

PinPrice pin_price(StreamRange range, const PinTerms& terms, const engine::RetentionMap* kept)
{
    PinPrice price;
    price.tokens = range.last - range.first;
    price.bytes = price.tokens * terms.bytes_per_token;
    if (terms.budget > 0) price.budget_share = static_cast<double>(price.tokens) / terms.budget;
    if (kept) price.held_share = held_share(*kept, range);
    return price;
}

DocumentPage::DocumentPage(QWidget* parent)
    : QWidget(parent), view_(new DocumentView(this)), find_(new FindBar(this)), copying_(new CopyBar(this)),
      time_(new TimeBar(this)), fade_loader_(new FadeRecordLoader(this))
{
    make_actions();
    auto* column = new QVBoxLayout(this);
    column->setContentsMargins(0, 0, 0, 0);
    column->setSpacing(0);
    column->addWidget(make_header());
    column->addWidget(find_);
    column->addWidget(make_highlights_note());
    column->addWidget(view_, 1);
    column->addWidget(make_selection_bar());
    column->addWidget(copying_);
    column->addWidget(time_);
    setFocusProxy(view_);
    connect(view_, &DocumentView::selection_changed, this, &DocumentPage::selection_changed);
    connect(view_, &DocumentView::scrolled, this, &DocumentPage::place_changed);
    connect(view_, &DocumentView::caret_moved, this, [this] { find_->set_place(view_->caret()); });
    connect(view_, &DocumentView::token_pointed, this, &DocumentPage::token_pointed);
    connect(view_, &DocumentView::menu_wanted, this, &DocumentPage::show_menu);
    connect(view_, &DocumentView::copying, copying_, &CopyBar::set_share);
    connect(copying_, &CopyBar::cancelled, view_, &DocumentView::stop_copying);
    connect(find_, &FindBar::matches_changed, this, [this] {
        view_->set_matches(find_->matches());
        if (find_->matches().empty()) view_->set_current_match(std::nullopt);
    });
    connect(find_, &FindBar::match_chosen, this, [this](StreamRange match) {
        view_->set_current_match(match);
        view_->set_caret(match.first);
    });
    connect(find_, &FindBar::closed, this, [this] { view_->setFocus(Qt::OtherFocusReason); });
    connect(time_, &TimeBar::time_changed, this, [this] {
        view_->set_time(time_->is_now() ? nullptr : time_->index(), time_->step(), time_->tokens_read());
    });
    connect(fade_loader_, &FadeRecordLoader::built, time_, &TimeBar::set_index);
    connect(fade_loader_, &FadeRecordLoader::failed, time_, &TimeBar::set_failed);
    selection_changed();
    place_changed();
}

QAction* DocumentPage::add_action(const QString& text, const QKeySequence& keys, std::function<void()> work)
{
    auto* action = new QAction(text, this);
    action->setShortcut(keys);
    action->setShortcutContext(Qt::WidgetWithChildrenShortcut);
    connect(action, &QAction::triggered, this, std::move(work));
    addAction(action);
    return action;
}

void DocumentPage::make_actions()
{
    copy_ = add_action(tr("Copy"), {}, [this] { view_->copy(); });
    pin_ = add_action(tr("Pin this passage"), QKeySequence(tr("Ctrl+Shift+P")), [this] { pin(); });
    unpin_ = add_action(tr("Unpin"), QKeySequence(tr("Ctrl+Shift+U")), [this] {
        if (const auto* pin = pin_at(view_->caret())) Q_EMIT unpin_wanted({pin->first, pin->last});
    });
    find_action_ = add_action(tr("Find…"), QKeySequence(), [this] { open_find(); }); // the window owns its shortcut
    add_action(tr("Find next"), QKeySequence::FindNext, [this] { find_->next(); });
    add_action(tr("Find previous"), QKeySequence::FindPrevious, [this] { find_->previous(); });
    go_to_ = add_action(tr("Go to…"), QKeySequence(tr("Ctrl+J")), [this] { open_go_to(); });
    shade_ = add_action(tr("Shade"), {}, [this] { view_->set_shaded(shade_->isChecked()); });
    underline_ = add_action(tr("Underline"), {}, [this] { view_->set_underlined(underline_->isChecked()); });
    shade_->setCheckable(true);
    shade_->setChecked(true);
    shade_->setToolTip(tr("Shade each token by how much of it is still held"));
    underline_->setCheckable(true);
    underline_->setToolTip(tr("Underline each token, thicker the more of it is still held"));
}

QWidget* DocumentPage::make_header()
{
    auto* header = new QWidget(this);
    auto* row = new QHBoxLayout(header);
    const int gap = fontMetrics().height() / 3;
    row->setContentsMargins(2 * gap, gap, 2 * gap, gap);
    row->setSpacing(gap);
    const auto add_button = [&](QAction* action) {
        auto* button = new QToolButton(header);
        button->setDefaultAction(action);
        button->setAutoRaise(true);
        button->setFocusPolicy(Qt::TabFocus);
        button->setAccessibleName(action->text());
        row->addWidget(button);
    };
    add_button(go_to_);
    heading_ = new ElidedLabel(header);
    heading_->setAccessibleName(tr("Chapter"));
    heading_->setSizePolicy(QSizePolicy::Ignored, QSizePolicy::Preferred);
    row->addWidget(heading_, 1);
    auto* legend = new ShadeLegend(header);
    legend_ = legend;
    row->addWidget(legend);
    add_button(shade_);
    add_button(underline_);
    add_button(find_action_);
    return header;
}

QWidget* DocumentPage::make_highlights_note()
{
    highlights_note_ = new QLabel(this);
    highlights_note_->setAccessibleName(tr("What the dotted line marks"));
    highlights_note_->setTextFormat(Qt::PlainText);
    highlights_note_->setWordWrap(true);
    const int gap = fontMetrics().height() / 3;
    highlights_note_->setContentsMargins(2 * gap, gap, 2 * gap, gap);
    highlights_note_->hide();
    return highlights_note_;
}

QWidget* DocumentPage::make_selection_bar()
{
    selection_bar_ = new QWidget(this);
    auto* row = new QHBoxLayout(selection_bar_);
    const int gap = fontMetrics().height() / 3;
    row->setContentsMargins(2 * gap, gap, 2 * gap, gap);
    price_ = new QLabel(selection_bar_);
    price_->setAccessibleName(tr("What pinning would cost"));
    price_->setWordWrap(true);
    auto* button = new QPushButton(pin_->text(), selection_bar_);
    button->setAccessibleName(pin_->text());
    button->setToolTip(
        tr("No policy may evict a pinned passage (%1)").arg(pin_->shortcut().toString(QKeySequence::NativeText)));
    connect(button, &QPushButton::clicked, pin_, &QAction::trigger);
    connect(pin_, &QAction::changed, button, [this, button] { button->setEnabled(pin_->isEnabled()); });
    row->addWidget(price_, 1);
    row->addWidget(button);
    return selection_bar_;
}

void DocumentPage::set_source(std::shared_ptr<TextSource> source)
{
    if (source_) source_->disconnect(this);
    source_ = std::move(source);
    if (source_) connect(source_.get(), &TextSource::failed, this, &DocumentPage::failed);
    fade_loader_->forget();
    time_->set_index(nullptr);
    view_->set_source(source_);
    find_->set_source(source_);
    place_changed();
}

void DocumentPage::set_kept(std::shared_ptr<const engine::RetentionMap> kept)
{
    view_->set_kept(std::move(kept));
    selection_changed();
}

void DocumentPage::set_pins(const std::vector<storage::Pin>& pins)
{
    pins_ = pins;
    std::vector<StreamRange> ranges;
    ranges.reserve(pins.size());
    for (const storage::Pin& pin : pins)
        ranges.push_back({pin.first, pin.last});
    view_->set_pins(std::move(ranges));
}

void DocumentPage::set_pin_terms(const PinTerms& terms)
{
    terms_ = terms;
    selection_changed();
}

void DocumentPage::set_shades(ShadeColors colors)
{
    static_cast<ShadeLegend*>(legend_)->set_shades(colors);
    view_->set_shades(std::move(colors));
}

void DocumentPage::set_highlights(std::vector<Highlight> highlights, const QString& note)
{
    highlights_note_->setText(note);
    highlights_note_->setVisible(!note.isEmpty());
    view_->set_highlights(std::move(highlights));
}

void DocumentPage::show_range(StreamRange range)
{
    if (time_->index()) time_->set_step(time_->index()->steps());
    view_->show_range(range);
}

void DocumentPage::show_matches(const std::vector<StreamRange>& matches)
{
    if (!find_->isHidden()) find_->close_bar(); // it marks matches of its own
    view_->set_matches(matches);
    view_->set_current_match(matches.front());
    view_->set_caret(matches.front().first);
    show_range({matches.front().first, matches.back().last});
}

void DocumentPage::set_fade_record(FadeRecord record, int32_t layers, int32_t chunk)
{
    if (!record.read || !source_ || source_->tokens() == 0) {
        fade_loader_->forget();
        return time_->set_index(nullptr);
    }
    fade_loader_->build(std::move(record), ChunkClock(source_->outline(), chunk), layers);
}

QString DocumentPage::price_text() const
{
    const StreamRange range = view_->selection();
    if (range.first == range.last) return {};
    const PinPrice price = pin_price(range, terms_, view_->retention().kept());
    QString text = tr("%n token(s)", nullptr, static_cast<int>(price.tokens));
    if (terms_.budget > 0)
        text =
            tr("%1: %2 % of the budget, %3")
                .arg(text, percent(price.budget_share),
                     QLocale().formattedDataSize(static_cast<qint64>(price.bytes), 1, QLocale::DataSizeSIFormat));
    if (view_->retention().kept()) text = tr("%1; %2 % of it are still held").arg(text, percent(price.held_share));
    if (price.budget_share > 1) text = tr("%1. This is more than the budget: choose a shorter passage").arg(text);
    return text;
}

void DocumentPage::selection_changed()
{
    const QString price = price_text();
    const StreamRange range = view_->selection();
    const bool fits = terms_.budget <= 0 || range.last - range.first <= static_cast<uint64_t>(terms_.budget);
    price_->setText(price);
    selection_bar_->setVisible(!price.isEmpty());
    pin_->setEnabled(!price.isEmpty() && fits);
    copy_->setEnabled(!price.isEmpty());
}

void DocumentPage::place_changed()
{
    go_to_->setEnabled(source_ != nullptr);
    find_action_->setEnabled(source_ != nullptr);
    const QString title =
        source_ ? source_->outline().place_name(view_->text_layout().visible_range().first) : QString();
    heading_->setToolTip(title);
    heading_->setText(title);
}

const storage::Pin* DocumentPage::pin_at(uint64_t token) const
{
    const auto at = std::ranges::find_if(
        pins_, [&](const storage::Pin& pin) { return token >= pin.first && token < pin.last; });
    return at == pins_.end() ? nullptr : &*at;
}

void DocumentPage::show_menu(QPoint global)
{
    const auto pointed = view_->text_layout().token_at(view_->viewport()->mapFromGlobal(global));
    const storage::Pin* pin = pin_at(pointed.value_or(view_->caret()));
    QMenu menu(this);
    menu.addAction(copy_);
    menu.addSeparator();
    menu.addAction(pin_);
    if (pin) {
        const StreamRange range{pin->first, pin->last};
        menu.addAction(pin->label.empty() ? tr("Unpin") : tr("Unpin “%1”").arg(QString::fromStdString(pin->label)),
                       this, [this, range] { Q_EMIT unpin_wanted(range); });
    }
    menu.addSeparator();
    menu.addAction(find_action_);
    menu.addAction(go_to_);
    menu.exec(global);
}

void DocumentPage::open_find()
{
    const StreamRange range = view_->selection();
    find_->set_place(range.first);
    find_->open(view_->text_layout().beginning_of(range, longest_label).trimmed());
}

void DocumentPage::open_go_to()
{
    auto* dialog = new GoToDialog(source_->outline(), view_->text_layout().visible_range().first, this);
    connect(dialog, &GoToDialog::chosen, this, [this](quint64 token) {
        view_->jump_to(token);
        view_->set_caret(token);
        view_->setFocus(Qt::OtherFocusReason);
    });
    dialog->open();
}

QString DocumentPage::passage_label(StreamRange range) const
{
    QString label = view_->text_layout().beginning_of(range, longest_label).simplified().left(longest_label);
    if (!label.isEmpty()) return label;
    return tr("tokens %1 to %2").arg(count_text(range.first), count_text(range.last - 1));
}

void DocumentPage::pin()
{
    const StreamRange range = view_->selection();
    if (range.first < range.last) Q_EMIT pin_wanted(range, passage_label(range));
}

} // namespace palimpsest::ui
