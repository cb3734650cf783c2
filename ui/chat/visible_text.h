// Foreign text made honest: what hides, reorders or floods is shown as an escape such as ⟨U+202E⟩.
//
// Line ends and tabs stay, so that lines keep their numbers. Linear in the text; text without anything to show is
// returned as it is.
#pragma once

#include <QString>
#include <QStringView>

namespace palimpsest::ui {

// Control characters, bidirectional controls and what has no shape of its own. One or two joiners or direction
// marks in a row stay, for scripts and emoji need them; so do six combining marks on one letter.
QString visible_text(QStringView foreign);

// Whether the character, alone, is shown as itself: neither hidden, nor reordering, nor combining.
bool is_plainly_visible(char32_t character);

// An address before it is opened: as visible_text, and no joiner stays, and letters and signs of other scripts
// that look like ASCII carry their number: "pаypal" becomes "pа⟨U+0430⟩ypal".
QString visible_address(QStringView address);

} // namespace palimpsest::ui
