// Dates and times in templates: strftime with English names, independent of the process's locale.
#pragma once

#include <chrono>
#include <ctime>
#include <string>
#include <string_view>

namespace palimpsest::engine::jinja {

std::tm date_of(std::chrono::sys_days day); // at midnight

// Supports the directives of C's strftime without E and O, and "-" for a number without padding, as in "%-d".
// Throws Error (PAL-TEMPLATE-02) for others.
std::string format_date(const std::tm& date, std::string_view format);

} // namespace palimpsest::engine::jinja
