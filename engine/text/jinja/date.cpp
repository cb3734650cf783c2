#include "engine/text/jinja/date.h"

#include <array>

#include "engine/text/jinja/failure.h"
#include "kernels/base/printable.h"

namespace palimpsest::engine::jinja {
namespace {

constexpr std::array months = {"January", "February", "March",     "April",   "May",      "June",
                               "July",    "August",   "September", "October", "November", "December"};
constexpr std::array days = {"Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"};

std::string number(int value, size_t width, bool padded, char fill = '0')
{
    std::string digits = std::to_string(value);
    if (padded && digits.size() < width) digits.insert(0, width - digits.size(), fill);
    return digits;
}

template<size_t Count>
std::string name(const std::array<const char*, Count>& names, int index)
{
    return names[static_cast<size_t>(index) % Count];
}

std::string directive(const std::tm& date, char letter, bool padded)
{
    const int hour = date.tm_hour % 12 == 0 ? 12 : date.tm_hour % 12;
    switch (letter) {
    case 'd':
        return number(date.tm_mday, 2, padded);
    case 'e':
        return number(date.tm_mday, 2, padded, ' ');
    case 'm':
        return number(date.tm_mon + 1, 2, padded);
    case 'y':
        return number(date.tm_year % 100, 2, padded);
    case 'Y':
        return number(date.tm_year + 1900, 4, false);
    case 'H':
        return number(date.tm_hour, 2, padded);
    case 'I':
        return number(hour, 2, padded);
    case 'M':
        return number(date.tm_min, 2, padded);
    case 'S':
        return number(date.tm_sec, 2, padded);
    case 'j':
        return number(date.tm_yday + 1, 3, padded);
    case 'w':
        return number(date.tm_wday, 1, padded);
    case 'u':
        return number(date.tm_wday == 0 ? 7 : date.tm_wday, 1, padded);
    case 'B':
        return name(months, date.tm_mon);
    case 'b':
    case 'h':
        return name(months, date.tm_mon).substr(0, 3);
    case 'A':
        return name(days, date.tm_wday);
    case 'a':
        return name(days, date.tm_wday).substr(0, 3);
    case 'p':
        return date.tm_hour < 12 ? "AM" : "PM";
    case 'n':
        return "\n";
    case 't':
        return "\t";
    case '%':
        return "%";
    case 'Z':
    case 'z':
        return ""; // dates have no time zone
    case 'F':
        return format_date(date, "%Y-%m-%d");
    case 'T':
    case 'X':
        return format_date(date, "%H:%M:%S");
    case 'R':
        return format_date(date, "%H:%M");
    case 'D':
    case 'x':
        return format_date(date, "%m/%d/%y");
    case 'c':
        return format_date(date, "%a %b %e %H:%M:%S %Y");
    case 'r':
        return format_date(date, "%I:%M:%S %p");
    default:
        fail_unsupported(
            Text("it uses date format '%{0}', which is not supported", printable(std::string(1, letter))));
    }
}

} // namespace

std::tm date_of(std::chrono::sys_days day)
{
    const std::chrono::year_month_day calendar(day);
    const std::chrono::sys_days new_year = calendar.year() / std::chrono::January / 1;
    std::tm date{};
    date.tm_year = static_cast<int>(calendar.year()) - 1900;
    date.tm_mon = static_cast<int>(static_cast<unsigned>(calendar.month())) - 1;
    date.tm_mday = static_cast<int>(static_cast<unsigned>(calendar.day()));
    date.tm_wday = static_cast<int>(std::chrono::weekday(day).c_encoding());
    date.tm_yday = static_cast<int>((day - new_year).count());
    return date;
}

std::string format_date(const std::tm& date, std::string_view format)
{
    std::string out;
    for (size_t at = 0; at < format.size(); ++at) {
        if (format[at] != '%' || at + 1 == format.size()) {
            out += format[at];
            continue;
        }
        const bool padded = format[at + 1] != '-' || at + 2 == format.size();
        at += padded ? 1 : 2;
        out += directive(date, format[at], padded);
    }
    return out;
}

} // namespace palimpsest::engine::jinja
