// Makes untrusted text visible: characters that hide, reorder or flood text are shown as escapes such as ⟨U+202E⟩.
//
// Line ends and tabs stay, so that line numbers do not change. Linear in the text; text without such characters is
// returned unchanged.
#pragma once

#include <QString>
#include <QStringView>

namespace palimpsest::ui {

// Escapes control characters, bidirectional controls and invisible characters. Up to two joiners or direction marks
// in a row stay, because scripts and emoji need them; so do up to six combining marks on one letter.
QString visible_text(QStringView foreign);

// Whether visible_text() shows the character alone as itself, because it is not hidden, reordering or combining.
bool is_plainly_visible(char32_t character);

// Formats an address for confirmation: like visible_text(), but also escapes joiners, and adds the code point to
// letters and signs of other scripts that look like ASCII: "pаypal" becomes "pа⟨U+0430⟩ypal".
QString visible_address(QStringView address);

} // namespace palimpsest::ui
