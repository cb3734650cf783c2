// Accessibility of the chat view: a list whose items are the turns, each with its text, notes and actions.
#pragma once

namespace palimpsest::ui {

// Installs the factory; further calls do nothing.
void install_chat_accessibility();

} // namespace palimpsest::ui
