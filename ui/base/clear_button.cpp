#include "ui/base/clear_button.h"

#include <QCoreApplication>
#include <QLineEdit>
#include <QToolButton>

namespace palimpsest::ui {

void add_clear_button(QLineEdit& field)
{
    field.setClearButtonEnabled(true);
    for (auto* button : field.findChildren<QToolButton*>())
        if (button->accessibleName().isEmpty())
            button->setAccessibleName(
                QCoreApplication::translate("palimpsest::ui::clear_button", "Empty the field"));
}

} // namespace palimpsest::ui
