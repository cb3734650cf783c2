// Accessibility of the map: its name, and the token at the crosshair as its value.
#pragma once

namespace palimpsest::ui {

void install_accessible_map(); // idempotent, for the whole program

} // namespace palimpsest::ui
