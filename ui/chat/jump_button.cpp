#include "ui/chat/jump_button.h"

namespace palimpsest::ui {

JumpButton::JumpButton(QWidget* viewport) : QToolButton(viewport)
{
    setText(tr("Jump to the end"));
    setAccessibleName(text());
    setToolTip(tr("Jump to the end, and follow it (End)"));
    setArrowType(Qt::DownArrow);
    setToolButtonStyle(Qt::ToolButtonTextBesideIcon);
    setCursor(Qt::ArrowCursor);
    hide();
}

void JumpButton::show_above(int margin)
{
    show();
    adjustSize();
    move((parentWidget()->width() - width()) / 2, parentWidget()->height() - height() - margin);
}

} // namespace palimpsest::ui
