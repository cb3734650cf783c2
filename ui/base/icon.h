// The program's symbolic icons, drawn in the text colour so that they fit light and dark themes.
#pragma once

#include <QIcon>

namespace palimpsest::ui {

// `name`: file name in resources/icons, without extension. The icon follows the palette at each paint.
QIcon icon(const char* name);
// The application icon, in its own colours.
QIcon program_icon();

} // namespace palimpsest::ui
