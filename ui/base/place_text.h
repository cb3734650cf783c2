// Where something stands in a document, in words: "Chapter 3 · page 12".
#pragma once

#include <QString>

namespace palimpsest::ui {

// `page`: its label. Both come from a document: they are shown as visible_text() shows them. Both may be empty.
QString place_text(const QString& heading, const QString& page);

} // namespace palimpsest::ui
