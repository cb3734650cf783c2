#include "ui/base/place_text.h"

#include <QCoreApplication>
#include <QStringList>

namespace palimpsest::ui {

QString place_text(const QString& heading, const QString& page)
{
    QStringList parts;
    if (!heading.isEmpty()) parts << heading;
    if (!page.isEmpty()) parts << QCoreApplication::translate("palimpsest::ui::PlaceText", "page %1").arg(page);
    return parts.join(QStringLiteral(" · "));
}

} // namespace palimpsest::ui
