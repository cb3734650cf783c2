#include "ui/outline/outline_page.h"

#include <QEvent>
#include <QHBoxLayout>
#include <QLabel>
#include <QPushButton>
#include <QStackedWidget>
#include <QVBoxLayout>
#include <algorithm>
#include <utility>

#include "ui/base/icon.h"
#include "ui/base/quantity.h"
#include "ui/base/theme.h"
#include "ui/outline/outline_view.h"

namespace palimpsest::ui {

OutlinePage::OutlinePage(QWidget* parent)
    : QWidget(parent), model_(new OutlineModel(this)), view_(new OutlineView(*model_, this)),
      pages_(new QStackedWidget(this)), heading_(new QLabel), what_for_(new QLabel), count_(new QLabel),
      open_(new QPushButton), write_(new QPushButton), copy_all_(new QPushButton)
{
    auto* list = new QWidget;
    auto* rows = new QVBoxLayout(list);
    rows->setContentsMargins(0, 0, 0, 0);
    rows->setSpacing(0);
    rows->addWidget(make_header());
    rows->addWidget(view_, 1);
    pages_->addWidget(make_empty_page());
    pages_->addWidget(list);
    auto* column = new QVBoxLayout(this);
    column->setContentsMargins(0, 0, 0, 0);
    column->addWidget(pages_);
    connect(view_, &OutlineView::place_wanted, this, &OutlinePage::place_wanted);
    connect(write_, &QPushButton::clicked, this, &OutlinePage::notes_wanted);
    connect(copy_all_, &QPushButton::clicked, view_, &OutlineView::copy_all);
    connect(open_, &QPushButton::clicked, this, &OutlinePage::open_wanted);
    // The list is what a key to this page should reach first.
    setTabOrder(view_, write_);
    setTabOrder(write_, copy_all_);
    restyle();
    update_header();
}

QWidget* OutlinePage::make_empty_page()
{
    auto* page = new QWidget;
    page->setAutoFillBackground(true);
    page->setBackgroundRole(QPalette::Base);
    auto* across = new QHBoxLayout(page);
    auto* middle = new QWidget;
    middle->setMaximumWidth(fontMetrics().averageCharWidth() * 72);
    auto* column = new QVBoxLayout(middle);
    across->addStretch(1);
    across->addWidget(middle, 8);
    across->addStretch(1);
    heading_->setText(tr("What each section says"));
    what_for_->setText(
        tr("The sections of a document are listed here, with how much of each is still held. The model can write a "
           "note on each: in a few words, what the section is about. A click goes to the text."));
    open_->setText(tr("&Open a document…"));
    open_->setAccessibleName(tr("Open a document"));
    column->addStretch(1);
    for (QLabel* label : {heading_, what_for_}) {
        label->setTextFormat(Qt::PlainText);
        label->setWordWrap(true);
        column->addWidget(label);
    }
    column->addSpacing(fontMetrics().height() / 2);
    auto* buttons = new QHBoxLayout;
    buttons->addWidget(open_);
    buttons->addStretch(1);
    column->addLayout(buttons);
    column->addStretch(2);
    return page;
}

QWidget* OutlinePage::make_header()
{
    auto* header = new QWidget;
    auto* row = new QHBoxLayout(header);
    const int gap = fontMetrics().height() / 3;
    row->setContentsMargins(2 * gap, gap, 2 * gap, gap);
    row->setSpacing(gap);
    count_->setTextFormat(Qt::PlainText);
    count_->setWordWrap(true);
    count_->setAccessibleName(tr("Notes"));
    write_->setText(tr("&Write notes"));
    write_->setAccessibleName(tr("Write notes"));
    copy_all_->setText(tr("Copy all"));
    copy_all_->setAccessibleName(tr("Copy all sections and notes"));
    row->addWidget(count_, 1);
    row->addWidget(write_);
    row->addWidget(copy_all_);
    return header;
}

void OutlinePage::show_session(std::shared_ptr<const SessionFacts> facts)
{
    can_write_ = facts && facts->text_only.isEmpty();
    has_unknown_ = facts && std::ranges::any_of(facts->documents, [](const auto& d) { return !d.stretches; });
    const bool is_all_read = facts && !facts->documents.empty() && facts->tokens_read >= facts->tokens_in_input;
    tokens_read_ = is_all_read ? facts->documents.back().range.last : 0;
    update_rows(std::move(facts));
    const bool has_rows = model_->rowCount() > 0;
    pages_->setCurrentIndex(has_rows ? 1 : 0);
    setFocusProxy(has_rows ? static_cast<QWidget*>(view_) : open_);
    update_header();
}

void OutlinePage::update_rows(std::shared_ptr<const SessionFacts> facts)
{
    if (!made_of_ || !facts || !has_same_outline(*made_of_, *facts))
        model_->set_rows(facts ? outline_rows(*facts) : std::vector<OutlineRow>());
    made_of_ = std::move(facts);
}

void OutlinePage::show_frame(const Frame& frame)
{
    const bool writes = frame.activity == Activity::WritingNotes, reads = frame.activity == Activity::Reading;
    if (writes == is_writing_ && reads == is_reading_) return;
    is_writing_ = writes;
    is_reading_ = reads;
    update_header();
}

void OutlinePage::set_kept(std::shared_ptr<const engine::RetentionMap> kept)
{
    const uint64_t computed = kept ? kept->tokens_seen : 0;
    model_->set_kept(std::move(kept));
    if (std::exchange(tokens_computed_, computed) != computed) update_header();
}

void OutlinePage::add_note(const storage::Note& note)
{
    model_->add_note(note);
    made_of_.reset();
    update_header();
}

void OutlinePage::set_shades(const ShadeColors& colors)
{
    view_->delegate().set_shades(colors, palette());
    view_->viewport()->update();
}

void OutlinePage::update_header()
{
    const OutlineModel::Notes notes = model_->notes(std::max(tokens_read_, tokens_computed_));
    const bool are_missing = notes.written < notes.possible;
    if (notes.written == 0)
        count_->setText(
            tr("There are no notes yet. A note says in a few words what a section is about; writing them "
               "takes about as long as reading."));
    else
        count_->setText(are_missing || is_writing_ ? tr("%1 of %2 notes are written.")
                                                         .arg(count_text(static_cast<uint64_t>(notes.written)),
                                                              count_text(static_cast<uint64_t>(notes.possible)))
                                                   : tr("%n note(s)", nullptr, notes.written));
    write_->setEnabled(can_write_ && (are_missing || has_unknown_) && !is_writing_ && !is_reading_);
    write_->setToolTip(tr("Write the missing notes on what was read; it can be stopped at any time"));
}

void OutlinePage::restyle()
{
    QFont large = font();
    if (large.pointSizeF() > 0) large.setPointSizeF(large.pointSizeF() * 1.6);
    heading_->setFont(large);
    QPalette quiet = palette();
    quiet.setColor(QPalette::Text, secondary_text(palette())); // the labels stand on QPalette::Base
    what_for_->setPalette(quiet);
}

void OutlinePage::changeEvent(QEvent* event)
{
    QWidget::changeEvent(event);
    if (event->type() == QEvent::FontChange || event->type() == QEvent::PaletteChange) restyle();
}

} // namespace palimpsest::ui
