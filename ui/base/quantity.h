// Formats numbers for the user, in the language and with the separators of the locale.
#pragma once

#include <QString>
#include <cstdint>

namespace palimpsest::ui {

QString bytes_text(uint64_t bytes);  // "96.4 MB"
QString count_text(uint64_t number); // "812,345"
QString number_text(double number, int digits);
QString share_text(double share);      // `share` in 0 to 1: "61 %", or "0.4 %" below ten percent
QString speed_text(double per_second); // "4,120 tok/s"
QString duration_text(double seconds); // "41 s", "3:05 min", "2:10 h"

} // namespace palimpsest::ui
