#include "ui/window/places_table.h"

#include <QCoreApplication>
#include <QDir>
#include <QHeaderView>
#include <QTableWidget>

#include "ui/base/quantity.h"

namespace palimpsest::ui {
namespace {

struct PlacesWords {
    Q_DECLARE_TR_FUNCTIONS(palimpsest::ui::StoredPlaces)
};

} // namespace

QTableWidget* make_places_table(const std::vector<StoredPlace>& places, QWidget* parent)
{
    auto* table = new QTableWidget(static_cast<int>(places.size()), 3, parent);
    table->setAccessibleName(PlacesWords::tr("What is stored where"));
    table->setHorizontalHeaderLabels({PlacesWords::tr("What"), PlacesWords::tr("Size"), PlacesWords::tr("Where")});
    table->verticalHeader()->hide();
    table->setEditTriggers(QAbstractItemView::NoEditTriggers);
    table->setSelectionBehavior(QAbstractItemView::SelectRows);
    table->setTabKeyNavigation(false);
    table->setTextElideMode(Qt::ElideMiddle);
    table->setShowGrid(false);
    for (int row = 0; row < table->rowCount(); ++row) {
        const StoredPlace& place = places[static_cast<size_t>(row)];
        const QString size =
            place.bytes == 0 ? PlacesWords::tr("nothing") : bytes_text(static_cast<uint64_t>(place.bytes));
        auto* where = new QTableWidgetItem(QDir::toNativeSeparators(place.path));
        where->setToolTip(where->text());
        table->setItem(row, 0, new QTableWidgetItem(place.what));
        table->setItem(row, 1, new QTableWidgetItem(size));
        table->setItem(row, 2, where);
        table->item(row, 1)->setTextAlignment(Qt::AlignTrailing | Qt::AlignVCenter);
    }
    table->horizontalHeader()->setDefaultAlignment(Qt::AlignLeading | Qt::AlignVCenter);
    table->horizontalHeader()->setHighlightSections(false);
    table->horizontalHeader()->setSectionResizeMode(QHeaderView::Stretch);
    table->horizontalHeader()->setSectionResizeMode(1, QHeaderView::ResizeToContents);
    table->verticalHeader()->setSectionResizeMode(QHeaderView::ResizeToContents);
    table->setMinimumHeight(table->fontMetrics().height() * (static_cast<int>(places.size()) + 1) * 2);
    return table;
}

} // namespace palimpsest::ui
