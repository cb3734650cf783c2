// Light or dark, and how large text is, for the whole program.
#pragma once

#include "ui/window/preferences.h"

namespace palimpsest::ui {

// Cheap if nothing changes. Needs a QApplication.
void apply_appearance(const Preferences& preferences);

} // namespace palimpsest::ui
