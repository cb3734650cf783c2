// A date and time as templates print it: strftime with English names, whatever the process's locale.
#pragma once

#include <chrono>
#include <ctime>
#include <string>
#include <string_view>

namespace palimpsest::engine::jinja {

std::tm date_of(std::chrono::sys_days day); // at midnight

// The directives of C's strftime without E and O, and "-" for a number without padding, as in "%-d". Throws Error
// (PAL-TEMPLATE-02) for others.
std::string format_date(const std::tm& date, std::string_view format);

} // namespace palimpsest::engine::jinja
