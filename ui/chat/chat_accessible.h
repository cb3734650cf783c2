// The chat for screen readers: a list whose items are the turns, each with its text, its notes and its actions.
#pragma once

namespace palimpsest::ui {

// Once for the process; further calls do nothing.
void install_chat_accessibility();

} // namespace palimpsest::ui
