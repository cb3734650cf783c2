#include "ui/library/hits_panel.h"

#include <QKeyEvent>
#include <QLabel>
#include <QListView>
#include <QPushButton>
#include <QVBoxLayout>
#include <functional>
#include <utility>

#include "ui/base/quantity.h"
#include "ui/library/hit_delegate.h"
#include "ui/library/notice_bar.h"
#include "ui/library/search_model.h"

namespace palimpsest::ui {
namespace {

class HitList : public QListView {
public:
    HitList(std::function<void()> go_up, QWidget* parent) : QListView(parent), go_up_(std::move(go_up)) {}

protected:
    void keyPressEvent(QKeyEvent* event) override
    {
        if (event->key() == Qt::Key_Up && currentIndex().row() <= 0) return go_up_();
        QListView::keyPressEvent(event);
    }
    // The first of two clicks has opened the hit already.
    void mouseDoubleClickEvent(QMouseEvent* event) override { event->accept(); }

private:
    std::function<void()> go_up_;
};

QString counts_text(const SearchProgress& progress)
{
    QStringList counts;
    const auto messages = static_cast<int>(progress.messages), passages = static_cast<int>(progress.passages);
    if (messages > 0)
        counts += progress.has_all_messages ? HitsPanel::tr("%n message(s)", nullptr, messages)
                                            : HitsPanel::tr("the first %n message(s)", nullptr, messages);
    if (progress.passages < progress.passages_found)
        counts += HitsPanel::tr("%1 of %2 passages")
                      .arg(count_text(progress.passages), count_text(progress.passages_found));
    else if (passages > 0)
        counts += HitsPanel::tr("%n passage(s)", nullptr, passages);
    return counts.join(QStringLiteral(", "));
}

// Says what is missing, so that a partial result does not look complete.
QString result_text(const SearchProgress& progress)
{
    const QString counts = counts_text(progress);
    QStringList text;
    if (!progress.is_done)
        text += HitsPanel::tr("%1 of %2 sessions searched …")
                    .arg(count_text(progress.sessions_searched), count_text(progress.sessions));
    else
        text += counts.isEmpty() ? HitsPanel::tr("Nothing was found.") : HitsPanel::tr("Found: %1.").arg(counts);
    if (!progress.has_all_words && progress.passages > 0)
        text += HitsPanel::tr("No passage has all of these words; these have some of them.");
    if (progress.sessions_unreadable > 0)
        text += HitsPanel::tr("%n damaged session(s) left out.", nullptr,
                              static_cast<int>(progress.sessions_unreadable));
    return text.join(u' ');
}

} // namespace

HitsPanel::HitsPanel(QWidget* parent)
    : QWidget(parent), hits_(new SearchModel(this)), title_(new QLabel(this)),
      list_(new HitList([this] { Q_EMIT left_upwards(); }, this)),
      index_bar_(new NoticeBar("search", tr("Index them"), this))
{
    title_->setWordWrap(true);
    title_->setMargin(fontMetrics().height() / 4);
    title_->setTextFormat(Qt::PlainText);
    list_->setItemDelegate(new HitDelegate(list_));
    list_->setAccessibleName(tr("Found in texts"));
    list_->setFrameShape(QFrame::NoFrame);
    list_->setVerticalScrollMode(QAbstractItemView::ScrollPerPixel);
    list_->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
    list_->setModel(hits_);
    list_->setUniformItemSizes(true);
    index_bar_->button().setAccessibleName(tr("Index the documents that are not indexed yet"));
    auto* column = new QVBoxLayout(this);
    column->setContentsMargins(0, 0, 0, 0);
    column->addWidget(title_);
    column->addWidget(list_, 1);
    column->addWidget(index_bar_);
    connect(&index_bar_->button(), &QPushButton::clicked, this, [this] {
        index_asked_ = true;
        Q_EMIT index_wanted();
    });
    connect(list_, &QListView::activated, this, &HitsPanel::open);
    connect(list_, &QListView::clicked, this, [this](const QModelIndex& index) {
        const bool activates = // then the same click also emits activated
            list_->style()->styleHint(QStyle::SH_ItemView_ActivateItemOnSingleClick, nullptr, list_);
        if (!activates) open(index);
    });
}

void HitsPanel::begin()
{
    hits_->clear();
    index_bar_->hide();
    is_searching_ = true;
    title_->setText(tr("Searching what was read and said …"));
}

void HitsPanel::add(const std::vector<SearchHit>& hits)
{
    hits_->add(hits);
}

void HitsPanel::show_progress(const SearchProgress& progress)
{
    title_->setText(result_text(progress));
    list_->setAccessibleDescription(title_->text());
    is_searching_ = !progress.is_done;
    unindexed_ = progress.documents_unindexed;
    if (progress.is_done) index_asked_ = false;
    index_bar_->show_text(unindexed_ == 0 ? QString()
                                          : tr("%n document(s) are not indexed yet. Their passages are not found.",
                                               nullptr, static_cast<int>(unindexed_)));
}

void HitsPanel::fail()
{
    if (std::exchange(is_searching_, false)) title_->setText(tr("The texts could not be searched."));
}

bool HitsPanel::has_hits() const
{
    return hits_->rowCount() > 0;
}

void HitsPanel::open_current()
{
    if (!has_hits()) return;
    if (!list_->currentIndex().isValid()) list_->setCurrentIndex(hits_->index(0));
    open(list_->currentIndex());
}

void HitsPanel::focus_hits()
{
    if (!list_->currentIndex().isValid()) list_->setCurrentIndex(hits_->index(0));
    list_->setFocus(Qt::TabFocusReason);
}

void HitsPanel::open(const QModelIndex& index)
{
    Q_EMIT hit_activated(hits_->hit(index));
}

} // namespace palimpsest::ui
