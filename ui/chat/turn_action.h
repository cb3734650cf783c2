// The actions of a turn of the chat.
#pragma once

namespace palimpsest::ui {

enum class TurnAction { Earlier, Later, Copy, CopyMarkdown, Regenerate, Branch, ShowSources, ShowQuote };

} // namespace palimpsest::ui
