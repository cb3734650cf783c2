#include "ui/library/notice_bar.h"

#include <QHBoxLayout>
#include <QLabel>
#include <QPushButton>

#include "ui/base/icon.h"

namespace palimpsest::ui {

NoticeBar::NoticeBar(const char* symbol, const QString& button, QWidget* parent)
    : QFrame(parent), text_(new QLabel(this)), button_(new QPushButton(icon(symbol), button, this))
{
    setFrameShape(QFrame::StyledPanel);
    text_->setWordWrap(true);
    text_->setTextFormat(Qt::PlainText);
    auto* row = new QHBoxLayout(this);
    row->addWidget(text_, 1);
    row->addWidget(button_);
    hide();
}

void NoticeBar::show_text(const QString& text)
{
    text_->setText(text);
    setVisible(!text.isEmpty());
}

} // namespace palimpsest::ui
