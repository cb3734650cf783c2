#include "ui/base/place_text.h"

#include <QCoreApplication>
#include <QStringList>

#include "ui/base/visible_text.h"

namespace palimpsest::ui {

QString place_text(const QString& heading, const QString& page)
{
    QStringList parts;
    if (!heading.isEmpty()) parts << visible_text(heading);
    if (!page.isEmpty())
        parts << QCoreApplication::translate("palimpsest::ui::PlaceText", "page %1").arg(visible_text(page));
    return parts.join(QStringLiteral(" · "));
}

} // namespace palimpsest::ui
