// What assistive technology is told about the map: its name, and the place of the crosshair as a value.
#pragma once

namespace palimpsest::ui {

void install_accessible_map(); // once for the program; further calls do nothing

} // namespace palimpsest::ui
