#include "ui/memory/memory_view.h"

#include <QHeaderView>
#include <QLabel>
#include <QStackedWidget>
#include <QTableView>
#include <QVBoxLayout>

#include "ui/base/quantity.h"
#include "ui/base/table_text.h"
#include "ui/memory/memory_table.h"

namespace palimpsest::ui {
namespace {

// A table as high as its rows, so that it never scrolls inside a panel that scrolls.
class FittingTable final : public QTableView {
public:
    using QTableView::QTableView;
    QSize sizeHint() const override
    {
        const int rows = model() ? model()->rowCount() : 0;
        return {fontMetrics().averageCharWidth() * 44,
                rows * verticalHeader()->defaultSectionSize() + 2 * frameWidth()};
    }
    QSize minimumSizeHint() const override { return {fontMetrics().averageCharWidth() * 26, sizeHint().height()}; }
};

QTableView* make_table(QAbstractItemModel* model, const QString& name)
{
    auto* view = new FittingTable;
    view->setModel(model);
    view->setAccessibleName(name);
    make_plain_table(*view);
    view->horizontalHeader()->hide();
    view->horizontalHeader()->setSectionResizeMode(0, QHeaderView::Stretch);
    view->horizontalHeader()->setSectionResizeMode(1, QHeaderView::ResizeToContents);
    view->setVerticalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
    view->setFrameShape(QFrame::NoFrame);
    view->setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Fixed);
    return view;
}

} // namespace

MemoryView::MemoryView(QWidget* parent)
    : QWidget(parent), pages_(new QStackedWidget(this)), nothing_(new QLabel),
      chart_(new Chart(tr("Memory over the tokens read"))), table_(new MemoryTable(this))
{
    setAccessibleName(tr("Memory"));
    table_view_ = make_table(table_, tr("Memory of the session in numbers"));
    nothing_->setText(tr("Nothing is held yet. While a document is read, this shows what the cache of its session "
                         "takes, beside what a full cache would take."));
    nothing_->setWordWrap(true);
    nothing_->setAlignment(Qt::AlignCenter);
    nothing_->setMargin(fontMetrics().height());
    auto* full = new QWidget;
    auto* column = new QVBoxLayout(full);
    column->setContentsMargins(0, 0, fontMetrics().averageCharWidth(), 0);
    column->addWidget(chart_, 1);
    column->addWidget(table_view_);
    pages_->addWidget(nothing_);
    pages_->addWidget(full);
    auto* layout = new QVBoxLayout(this);
    layout->setContentsMargins(0, 0, 0, 0);
    layout->addWidget(pages_);
}

void MemoryView::begin(const QString& device, FullCache full_cache)
{
    clear();
    device_ = device;
    full_cache_ = std::move(full_cache);
}

void MemoryView::clear()
{
    history_.clear();
    table_->clear();
    chart_->set_lines({});
    pages_->setCurrentIndex(0);
}

void MemoryView::show_frame(const Frame& frame)
{
    if (!frame.kept) return clear();
    const engine::Telemetry& now = frame.telemetry;
    if (!history_.empty() && history_.samples().front().tokens > now.tokens_seen) history_.clear();
    if (history_.empty() && full_cache_) history_.add_past(now, full_cache_);
    history_.add(now);
    const bool logarithmic = history_.wants_logarithm();
    const auto bytes = [](double value) { return bytes_text(static_cast<uint64_t>(value)); };
    const auto tokens = [](double value) { return count_text(static_cast<uint64_t>(value)); };
    chart_->set_axes({.title = tr("Tokens read"), .text = tokens, .least = 0.0},
                     {.title = logarithmic ? tr("Bytes, logarithmic scale") : tr("Bytes"),
                      .text = bytes,
                      .logarithmic = logarithmic,
                      .least = logarithmic ? std::nullopt : std::optional(0.0)});
    chart_->set_lines(history_.lines());
    table_->show(now, frame.tokens_per_second > 0 ? frame.tokens_per_second : now.tokens_per_second, device_);
    table_view_->updateGeometry();
    pages_->setCurrentIndex(1);
}

} // namespace palimpsest::ui
