// Asks before opening a link of an answer, and shows the complete address.
#pragma once

#include <QString>

class QWidget;

namespace palimpsest::ui {

// Opens a web address in the desktop's browser if the user confirms; refuses other schemes. Does not block the
// event loop.
void ask_about_link(QWidget* parent, const QString& address);

} // namespace palimpsest::ui
