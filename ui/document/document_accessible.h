// What assistive technology is told about the document view: the visible text, the caret, the selection.
#pragma once

namespace palimpsest::ui {

void install_document_accessible(); // once for the process; more often does no harm

} // namespace palimpsest::ui
