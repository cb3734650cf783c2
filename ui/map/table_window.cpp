#include "ui/map/table_window.h"

#include <QClipboard>
#include <QComboBox>
#include <QDialogButtonBox>
#include <QFontMetrics>
#include <QGuiApplication>
#include <QHBoxLayout>
#include <QHeaderView>
#include <QLabel>
#include <QPushButton>
#include <QShortcut>
#include <QTableView>
#include <QVBoxLayout>

namespace palimpsest::ui {

MapTableWindow::MapTableWindow(QWidget* parent)
    : QDialog(parent), columns_(new QComboBox(this)), view_(new QTableView(this))
{
    setWindowTitle(tr("Retained tokens as a table"));
    auto* const label = new QLabel(tr("&Columns:"), this);
    label->setBuddy(columns_);
    columns_->setAccessibleName(tr("Columns of the table"));
    columns_->addItem(tr("Sections"));
    columns_->addItem(tr("Tenths of the stream"));
    view_->setModel(&table_);
    view_->setAccessibleName(tr("Share of the tokens that each layer and head keeps"));
    view_->setAccessibleDescription(tr("Rows are layers and heads, columns are parts of the stream."));
    view_->setTabKeyNavigation(false);
    view_->horizontalHeader()->setTextElideMode(Qt::ElideRight);
    view_->horizontalHeader()->setDefaultSectionSize(fontMetrics().averageCharWidth() * 18);
    view_->horizontalHeader()->setMaximumSectionSize(fontMetrics().averageCharWidth() * 60);

    auto* const copy_button = new QPushButton(tr("Co&py the table"), this);
    auto* const buttons = new QDialogButtonBox(QDialogButtonBox::Close, this);
    buttons->addButton(copy_button, QDialogButtonBox::ActionRole);
    copy_button->setAutoDefault(false);
    buttons->button(QDialogButtonBox::Close)->setAutoDefault(false);

    auto* const top = new QHBoxLayout;
    top->addWidget(label);
    top->addWidget(columns_);
    top->addStretch();
    auto* const all = new QVBoxLayout(this);
    all->addLayout(top);
    all->addWidget(view_);
    all->addWidget(buttons);
    resize(fontMetrics().averageCharWidth() * 110, fontMetrics().height() * 28);
    view_->setFocus();

    connect(columns_, &QComboBox::activated, this, [this](int index) {
        table_.set_columns(index == 0 ? RetentionTable::Columns::Sections : RetentionTable::Columns::Tenths);
    });
    connect(view_, &QTableView::activated, this, [this](const QModelIndex& index) {
        Q_EMIT token_activated(index.data(RetentionTable::TokenRole).toULongLong());
    });
    connect(copy_button, &QPushButton::clicked, this, &MapTableWindow::copy);
    auto* const shortcut = new QShortcut(QKeySequence::Copy, view_);
    shortcut->setContext(Qt::WidgetWithChildrenShortcut);
    connect(shortcut, &QShortcut::activated, this, &MapTableWindow::copy);
    connect(buttons, &QDialogButtonBox::rejected, this, &QDialog::close);
}

void MapTableWindow::set_scene(const MapScene& scene)
{
    table_.set_scene(scene);
    const bool sections = table_.has_sections() && table_.columns() == RetentionTable::Columns::Sections;
    columns_->setCurrentIndex(sections ? 0 : 1);
    columns_->setEnabled(table_.has_sections());
}

void MapTableWindow::copy() const
{
    QGuiApplication::clipboard()->setText(table_.as_text());
}

} // namespace palimpsest::ui
