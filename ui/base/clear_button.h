// Adds a clear button with an accessible name to a line edit; Qt's own button has none.
#pragma once

class QLineEdit;

namespace palimpsest::ui {

void add_clear_button(QLineEdit& field);

} // namespace palimpsest::ui
