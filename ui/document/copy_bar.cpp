#include "ui/document/copy_bar.h"

#include <QHBoxLayout>
#include <QLabel>
#include <QProgressBar>
#include <QPushButton>

namespace palimpsest::ui {

CopyBar::CopyBar(QWidget* parent) : QWidget(parent), bar_(new QProgressBar(this))
{
    auto* row = new QHBoxLayout(this);
    const int gap = fontMetrics().height() / 3;
    row->setContentsMargins(2 * gap, gap, 2 * gap, gap);
    auto* words = new QLabel(tr("Copying the passage"), this);
    auto* cancel = new QPushButton(tr("Cancel"), this);
    cancel->setAccessibleName(tr("Cancel copying"));
    bar_->setRange(0, 100);
    bar_->setAccessibleName(words->text());
    row->addWidget(words);
    row->addWidget(bar_, 1);
    row->addWidget(cancel);
    connect(cancel, &QPushButton::clicked, this, &CopyBar::cancelled);
    hide();
}

void CopyBar::set_share(double share)
{
    bar_->setValue(static_cast<int>(100 * share));
    setVisible(share < 1);
}

} // namespace palimpsest::ui
