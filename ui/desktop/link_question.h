// No address in an answer is opened without a question that shows all of it.
#pragma once

#include <QString>

class QWidget;

namespace palimpsest::ui {

// Opens a web address in the desktop's browser if the user says so; refuses any other kind. The dialog does not
// block the event loop.
void ask_about_link(QWidget* parent, const QString& address);

} // namespace palimpsest::ui
