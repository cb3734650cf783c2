// Applies the colour scheme and the text size to the whole program.
#pragma once

#include "ui/window/preferences.h"

namespace palimpsest::ui {

// Cheap if nothing changes. REQUIRES: a QApplication.
void apply_appearance(const Preferences& preferences);

} // namespace palimpsest::ui
