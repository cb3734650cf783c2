#include "ui/window/message_bar.h"

#include <QAccessible>
#include <QEvent>
#include <QHBoxLayout>
#include <QLabel>
#include <QToolButton>

#include "ui/base/icon.h"

namespace palimpsest::ui {

MessageBar::MessageBar(QWidget* parent)
    : QFrame(parent), symbol_(new QLabel(this)), text_(new QLabel(this)), act_(new QToolButton(this)),
      close_(new QToolButton(this))
{
    setFrameShape(QFrame::StyledPanel);
    setAccessibleName(tr("Message"));
    text_->setWordWrap(true);
    text_->setTextFormat(Qt::PlainText);
    text_->setTextInteractionFlags(Qt::TextSelectableByMouse | Qt::TextSelectableByKeyboard);
    act_->setAccessibleName(tr("What to do about it"));
    close_->setIcon(icon("close"));
    close_->setAutoRaise(true);
    close_->setAccessibleName(tr("Close the message"));
    close_->setToolTip(close_->accessibleName());
    auto* row = new QHBoxLayout(this);
    row->addWidget(symbol_, 0, Qt::AlignTop);
    row->addWidget(text_, 1);
    row->addWidget(act_, 0, Qt::AlignTop);
    row->addWidget(close_, 0, Qt::AlignTop);
    connect(act_, &QToolButton::clicked, this, [this] {
        hide();
        action_();
    });
    connect(close_, &QToolButton::clicked, this, &QWidget::hide);
    hide();
}

void MessageBar::show_message(Kind kind, const QString& sentence, const Action& action)
{
    if (kind == Kind::Note && kind_ == Kind::Failure && isVisible()) return;
    kind_ = kind;
    draw_symbol();
    symbol_->setAccessibleName(kind == Kind::Failure ? tr("Problem") : tr("Note"));
    text_->setText(sentence);
    text_->setAccessibleName(sentence);
    action_ = action.act;
    act_->setVisible(static_cast<bool>(action_));
    if (action_) {
        act_->setText(action.text);
        act_->setAccessibleName(action.text);
    }
    show();
    QAccessibleEvent alert(text_, QAccessible::Alert);
    QAccessible::updateAccessibility(&alert);
}

void MessageBar::withdraw(const QString& sentence)
{
    if (text_->text() == sentence) hide();
}

void MessageBar::draw_symbol()
{
    const int side = fontMetrics().height();
    const QIcon drawn = icon(kind_ == Kind::Failure ? "warning" : "info");
    symbol_->setPixmap(drawn.pixmap(QSize(side, side), devicePixelRatioF()));
}

void MessageBar::changeEvent(QEvent* event)
{
    if (event->type() == QEvent::PaletteChange || event->type() == QEvent::FontChange) draw_symbol();
    QFrame::changeEvent(event);
}

QString MessageBar::sentence() const
{
    return isVisibleTo(parentWidget()) ? text_->text() : QString();
}

} // namespace palimpsest::ui
