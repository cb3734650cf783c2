#include "ui/window/leave_question.h"

#include <QPushButton>

namespace palimpsest::ui {

LeaveQuestion::LeaveQuestion(const QString& sentence, QWidget* window)
    : QMessageBox(Warning, tr("Close Palimpsest"), sentence, Cancel, window)
{
    setObjectName(QStringLiteral("leave"));
    setAttribute(Qt::WA_DeleteOnClose);
    const QPushButton* leave = addButton(tr("Close without saving"), DestructiveRole);
    setDefaultButton(Cancel);
    connect(leave, &QPushButton::clicked, this, &LeaveQuestion::leave_wanted);
}

} // namespace palimpsest::ui
