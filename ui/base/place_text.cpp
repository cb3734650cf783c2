#include "ui/base/place_text.h"

#include <QStringList>

#include "ui/base/utf8.h"
#include "ui/base/visible_text.h"
#include "ui/base/wording.h"

namespace palimpsest::ui {

QString place_text(const QString& heading, const storage::PageRange& pages)
{
    QStringList parts;
    if (!heading.isEmpty()) parts << visible_text(heading);
    const auto label = [](const std::string& text) {
        return visible_text(text_of(text).simplified()).toStdString();
    };
    if (!pages.empty()) parts << shown(storage::page_words({label(pages.first), label(pages.last)}));
    return parts.join(QStringLiteral(" · "));
}

} // namespace palimpsest::ui
