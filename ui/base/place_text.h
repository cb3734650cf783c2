// Where something stands in a document, in words: "Chapter 3 · pages 12–14".
#pragma once

#include <QString>

#include "storage/page_range.h"

namespace palimpsest::ui {

// Heading and labels come from a document: they are shown as visible_text() shows them. Both may be empty.
QString place_text(const QString& heading, const storage::PageRange& pages);

} // namespace palimpsest::ui
