#include "ui/window/about_dialog.h"

#include <QDialogButtonBox>
#include <QHeaderView>
#include <QLabel>
#include <QTabBar>
#include <QTabWidget>
#include <QTableWidget>
#include <QVBoxLayout>

#include "ui/base/icon.h"
#include "ui/window/places_table.h"

namespace palimpsest::ui {
namespace {

struct Work {
    const char *name, *licence, *used_for;
};

constexpr Work works[] = {
    {"Qt 6", "LGPL-3.0", QT_TRANSLATE_NOOP("palimpsest::ui::AboutDialog", "the window")},
    {"SQLite", "public domain", QT_TRANSLATE_NOOP("palimpsest::ui::AboutDialog", "the database")},
    {"SQLiteCpp", "MIT", QT_TRANSLATE_NOOP("palimpsest::ui::AboutDialog", "the database")},
    {"Highway", "Apache-2.0 / BSD-3-Clause", QT_TRANSLATE_NOOP("palimpsest::ui::AboutDialog", "fast arithmetic")},
    {"sentencepiece", "Apache-2.0", QT_TRANSLATE_NOOP("palimpsest::ui::AboutDialog", "tokens of a text")},
    {"nlohmann/json", "MIT", QT_TRANSLATE_NOOP("palimpsest::ui::AboutDialog", "exchange of data")},
    {"utf8proc", "MIT", QT_TRANSLATE_NOOP("palimpsest::ui::AboutDialog", "Unicode")},
    {"PCRE2", "BSD-3-Clause", QT_TRANSLATE_NOOP("palimpsest::ui::AboutDialog", "tokens of a text")},
    {"xxHash", "BSD-2-Clause", QT_TRANSLATE_NOOP("palimpsest::ui::AboutDialog", "checksums")},
    {"zstd", "BSD-3-Clause", QT_TRANSLATE_NOOP("palimpsest::ui::AboutDialog", "compression")},
    {"md4c", "MIT", QT_TRANSLATE_NOOP("palimpsest::ui::AboutDialog", "Markdown of answers")},
};

QLabel* make_text(const QString& text, QWidget* parent)
{
    auto* label = new QLabel(text, parent);
    label->setWordWrap(true);
    label->setTextFormat(Qt::PlainText);
    label->setTextInteractionFlags(Qt::TextSelectableByMouse | Qt::TextSelectableByKeyboard);
    label->setAccessibleName(text);
    return label;
}

QWidget* make_page(QWidget* parent, std::initializer_list<QWidget*> parts)
{
    auto* page = new QWidget(parent);
    auto* column = new QVBoxLayout(page);
    const int margin = page->fontMetrics().height();
    column->setContentsMargins(margin, margin, margin, margin);
    column->setSpacing(margin);
    for (QWidget* part : parts)
        column->addWidget(part, qobject_cast<QTableWidget*>(part) ? 1 : 0);
    column->addStretch(0);
    return page;
}

QTableWidget* make_licences(QWidget* parent)
{
    auto* table = new QTableWidget(static_cast<int>(std::size(works)), 3, parent);
    table->setAccessibleName(AboutDialog::tr("Works of others that this program uses"));
    table->setHorizontalHeaderLabels(
        {AboutDialog::tr("Work"), AboutDialog::tr("Licence"), AboutDialog::tr("Used for")});
    table->verticalHeader()->hide();
    table->setEditTriggers(QAbstractItemView::NoEditTriggers);
    table->setSelectionBehavior(QAbstractItemView::SelectRows);
    table->setTabKeyNavigation(false);
    for (int row = 0; row < table->rowCount(); ++row) {
        const Work& work = works[row];
        const QString cells[] = {QString::fromLatin1(work.name), QString::fromLatin1(work.licence),
                                 AboutDialog::tr(work.used_for)};
        for (int column = 0; column < 3; ++column)
            table->setItem(row, column, new QTableWidgetItem(cells[column]));
    }
    table->resizeColumnsToContents();
    table->horizontalHeader()->setStretchLastSection(true);
    return table;
}

} // namespace

AboutDialog::AboutDialog(const QString& version, const std::vector<StoredPlace>& places, AboutPage page,
                         QWidget* parent)
    : QDialog(parent)
{
    setWindowTitle(tr("About Palimpsest"));
    auto* picture = new QLabel(this);
    const int side = fontMetrics().height() * 5;
    picture->setPixmap(program_icon().pixmap(QSize(side, side), devicePixelRatioF()));
    auto* name = make_text(tr("Palimpsest %1").arg(version), this);
    QFont large = font();
    large.setPointSizeF(large.pointSizeF() * 1.5);
    name->setFont(large);
    auto* tabs = new QTabWidget(this);
    tabs->setAccessibleName(windowTitle());
    tabs->tabBar()->setAccessibleName(windowTitle());
    tabs->addTab(
        make_page(tabs,
                  {picture, name,
                   make_text(tr("Reads documents of any length with a language model whose memory never grows "
                                "past a budget, and shows what of them is still held."),
                             this),
                   make_text(tr("A palimpsest is a page whose old writing was scraped off to make room for new "
                                "writing, and still shows through."),
                             this),
                   make_text(tr("Licensed under the Apache License, version 2.0. It comes without any warranty."),
                             this)}),
        tr("&Program"));
    tabs->addTab(
        make_page(tabs,
                  {make_text(tr("Nothing ever leaves this machine. The program has no part that reaches a "
                                "network: documents, questions and answers are read, computed and kept here, "
                                "and no one is told that you use it."),
                             this),
                   make_text(tr("Answers are shown without loading anything: no pictures, no scripts. A link is "
                                "opened only if you say so, and you see all of its address first."),
                             this),
                   make_text(tr("What is deleted is overwritten, in the backups too. A session that is not "
                                "saved leaves nothing behind."),
                             this),
                   make_places_table(places, this)}),
        tr("P&rivacy"));
    tabs->addTab(make_page(tabs, {make_licences(this)}), tr("&Licences"));
    tabs->setCurrentIndex(static_cast<int>(page));
    auto* buttons = new QDialogButtonBox(QDialogButtonBox::Close, this);
    connect(buttons, &QDialogButtonBox::rejected, this, &QDialog::reject);
    auto* column = new QVBoxLayout(this);
    column->addWidget(tabs, 1);
    column->addWidget(buttons);
    resize(fontMetrics().averageCharWidth() * 90, fontMetrics().height() * 30);
}

} // namespace palimpsest::ui
