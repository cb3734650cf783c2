// The button in a field that empties it, with a name: Qt's own has none.
#pragma once

class QLineEdit;

namespace palimpsest::ui {

void add_clear_button(QLineEdit& field);

} // namespace palimpsest::ui
