// The program's own symbols: drawn in the text's colour, so that they are right on light and dark.
#pragma once

#include <QIcon>

namespace palimpsest::ui {

// `name` as in resources/icons, without its ending. Follows the palette whenever it is painted.
QIcon icon(const char* name);
// The program's own, in its colours.
QIcon program_icon();

} // namespace palimpsest::ui
