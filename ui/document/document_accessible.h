// Accessibility of the document view: visible text, caret and selection.
#pragma once

namespace palimpsest::ui {

void install_document_accessible(); // may be called more than once

} // namespace palimpsest::ui
