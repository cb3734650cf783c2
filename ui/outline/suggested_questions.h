// Questions that could be asked about documents with notes, made from their headings and notes without the model.
#pragma once

#include <QStringList>
#include <span>

#include "ui/outline/outline_rows.h"

namespace palimpsest::ui {

// At most three: about names that stand often in the notes, but only in few of them, and about a section with a
// telling title. Empty if there are no notes. Notes in a language that writes all nouns with a capital letter give
// no names.
QStringList suggested_questions(std::span<const OutlineRow> rows);

} // namespace palimpsest::ui
