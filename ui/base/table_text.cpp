#include "ui/base/table_text.h"

#include <QAbstractItemModel>
#include <QAction>
#include <QClipboard>
#include <QCoreApplication>
#include <QGuiApplication>
#include <QHeaderView>
#include <QStringList>
#include <QTableView>

namespace palimpsest::ui {
namespace {

QString quoted(QString text)
{
    const bool plain = !text.contains(QLatin1Char(',')) && !text.contains(QLatin1Char('"')) &&
                       !text.contains(QLatin1Char('\n')) && !text.contains(QLatin1Char('\r'));
    if (plain) return text;
    return QLatin1Char('"') + text.replace(QLatin1Char('"'), QLatin1String("\"\"")) + QLatin1Char('"');
}

QString cell(const QModelIndex& index)
{
    const QVariant raw = index.data(RawRole);
    return raw.isValid() ? raw.toString() : index.data(Qt::DisplayRole).toString();
}

} // namespace

QString csv_of(const QAbstractItemModel& model)
{
    QString out;
    QStringList line;
    for (int c = 0; c < model.columnCount(); ++c)
        line << quoted(model.headerData(c, Qt::Horizontal).toString());
    out += line.join(QLatin1Char(',')) + QLatin1String("\r\n");
    for (int r = 0; r < model.rowCount(); ++r) {
        line.clear();
        for (int c = 0; c < model.columnCount(); ++c)
            line << quoted(cell(model.index(r, c)));
        out += line.join(QLatin1Char(',')) + QLatin1String("\r\n");
    }
    return out;
}

void make_plain_table(QTableView& view)
{
    view.setSelectionBehavior(QAbstractItemView::SelectRows);
    view.setEditTriggers(QAbstractItemView::NoEditTriggers);
    view.setShowGrid(false);
    view.setTabKeyNavigation(false);
    view.setWordWrap(false);
    view.verticalHeader()->hide();
    view.verticalHeader()->setDefaultSectionSize(view.fontMetrics().height() * 3 / 2);
    auto* copy = new QAction(QCoreApplication::translate("palimpsest::ui::table_text", "Copy as CSV"), &view);
    copy->setShortcut(QKeySequence::Copy);
    copy->setShortcutContext(Qt::WidgetShortcut);
    QObject::connect(copy, &QAction::triggered, &view,
                     [&view] { QGuiApplication::clipboard()->setText(csv_of(*view.model())); });
    view.addAction(copy);
    view.setContextMenuPolicy(Qt::ActionsContextMenu);
}

} // namespace palimpsest::ui
