#include "ui/window/keyboard_help.h"

#include <QDialogButtonBox>
#include <QHash>
#include <QHeaderView>
#include <QLineEdit>
#include <QScreen>
#include <QTreeWidget>
#include <QVBoxLayout>

#include "ui/base/clear_button.h"
#include "ui/window/actions.h"

namespace palimpsest::ui {
namespace {

QString all_keys(const QAction& action)
{
    QStringList keys;
    for (const QKeySequence& key : action.shortcuts())
        keys.append(key.toString(QKeySequence::NativeText));
    return keys.join(QStringLiteral(", "));
}

} // namespace

KeyboardHelp::KeyboardHelp(const Actions& actions, QWidget* parent) : QDialog(parent), list_(new QTreeWidget(this))
{
    setWindowTitle(tr("Keyboard"));
    auto* search = new QLineEdit(this);
    search->setPlaceholderText(tr("Search"));
    search->setAccessibleName(tr("Search for a command or a key"));
    add_clear_button(*search);
    list_->setAccessibleName(tr("Commands and their keys"));
    list_->setHeaderLabels({tr("Command"), tr("Key"), tr("What it does")});
    list_->setRootIsDecorated(false);
    list_->setUniformRowHeights(true);
    QHash<QString, QTreeWidgetItem*> menus;
    for (const QAction* action : actions.in_menus()) {
        const QString place = actions.place(action);
        QTreeWidgetItem*& menu = menus[place];
        if (!menu) {
            menu = new QTreeWidgetItem(list_, {place});
            QFont bold = font();
            bold.setBold(true);
            menu->setFont(0, bold);
            menu->setFlags(Qt::ItemIsEnabled);
        }
        auto* item = new QTreeWidgetItem(menu, {plain_text(*action), all_keys(*action), action->statusTip()});
        item->setToolTip(2, action->statusTip());
    }
    list_->expandAll();
    for (const int column : {0, 1}) {
        list_->resizeColumnToContents(column);
        list_->setColumnWidth(column, list_->columnWidth(column) + 2 * fontMetrics().averageCharWidth());
    }
    auto* buttons = new QDialogButtonBox(QDialogButtonBox::Close, this);
    connect(buttons, &QDialogButtonBox::rejected, this, &QDialog::reject);
    connect(search, &QLineEdit::textChanged, this, &KeyboardHelp::filter);
    auto* column = new QVBoxLayout(this);
    column->addWidget(search);
    column->addWidget(list_, 1);
    column->addWidget(buttons);
    const QSize wanted(fontMetrics().averageCharWidth() * 140, fontMetrics().height() * 40);
    resize(wanted.boundedTo(screen()->availableSize() * 9 / 10));
    search->setFocus();
}

void KeyboardHelp::filter(const QString& text)
{
    for (int i = 0; i < list_->topLevelItemCount(); ++i) {
        QTreeWidgetItem* menu = list_->topLevelItem(i);
        bool any = false;
        for (int j = 0; j < menu->childCount(); ++j) {
            QTreeWidgetItem* item = menu->child(j);
            bool fits = false;
            for (int column = 0; column < 3; ++column)
                fits = fits || item->text(column).contains(text, Qt::CaseInsensitive);
            item->setHidden(!fits);
            any = any || fits;
        }
        menu->setHidden(!any);
    }
}

} // namespace palimpsest::ui
