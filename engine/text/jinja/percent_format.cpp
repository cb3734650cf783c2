// Python's "format % values".

#include <cctype>
#include <charconv>
#include <cmath>

#include "engine/text/jinja/arithmetic.h"
#include "engine/text/jinja/code_points.h"
#include "engine/text/jinja/failure.h"
#include "engine/text/jinja/printing.h"
#include "kernels/base/printable.h"

namespace palimpsest::engine::jinja {
namespace {

constexpr size_t widest = 1000;

struct Directive {
    bool left = false, zero = false, sign = false, space = false, alternative = false;
    size_t width = 0;
    int precision = -1;
    char letter = 0;
};

[[noreturn]] void unsupported(const std::string& directive)
{
    fail_unsupported(Text("it uses format '{0}', which is not supported", printable(directive)));
}

size_t read_width(const std::string& format, size_t& at)
{
    size_t width = 0;
    for (; at < format.size() && std::isdigit(static_cast<unsigned char>(format[at])); ++at)
        width = width * 10 + static_cast<size_t>(format[at] - '0');
    if (width > widest) fail_limit(Text("it formats a value more than {0} wide", widest));
    return width;
}

// Reads the directive "%..." at `at`, and advances `at` past it.
Directive read_directive(const std::string& format, size_t& at)
{
    Directive d;
    for (++at; at < format.size(); ++at) {
        if (format[at] == '-')
            d.left = true;
        else if (format[at] == '0')
            d.zero = true;
        else if (format[at] == '+')
            d.sign = true;
        else if (format[at] == ' ')
            d.space = true;
        else if (format[at] == '#')
            d.alternative = true;
        else
            break;
    }
    d.width = read_width(format, at);
    if (at < format.size() && format[at] == '.') d.precision = static_cast<int>(read_width(format, ++at));
    if (at == format.size()) fail_run(Text("a format ends in the middle of a directive"));
    d.letter = format[at++];
    return d;
}

int64_t whole(const Value& value)
{
    if (!value.is(Value::Kind::Float)) return value.integer();
    if (!(std::abs(value.number()) < 9e18)) fail_run(Text("a number is too large for %d"));
    return static_cast<int64_t>(value.number());
}

// The digits of the number's absolute value.
std::string digits(const Directive& d, const Value& value)
{
    char buffer[1600];
    char *begin = std::begin(buffer), *end = std::end(buffer);
    const char letter = static_cast<char>(std::tolower(static_cast<unsigned char>(d.letter)));
    if (std::string_view("feg").find(letter) != std::string_view::npos) {
        const auto format = letter == 'f'   ? std::chars_format::fixed
                            : letter == 'e' ? std::chars_format::scientific
                                            : std::chars_format::general;
        end = std::to_chars(begin, end, std::abs(value.number()), format, d.precision < 0 ? 6 : d.precision).ptr;
    } else {
        const int64_t integer = whole(value);
        const uint64_t size = integer < 0 ? 0 - static_cast<uint64_t>(integer) : static_cast<uint64_t>(integer);
        end = std::to_chars(begin, end, size, letter == 'x' ? 16 : letter == 'o' ? 8 : 10).ptr;
    }
    std::string text(begin, end);
    if (d.letter >= 'A' && d.letter <= 'Z') text = upper(text);
    return text;
}

std::string number_text(const Directive& d, const Value& value)
{
    if (!value.is_number())
        fail_run(Text("{0} needs a number, not {1}", std::string("%") + d.letter, value.type_name()));
    if (d.alternative) unsupported(std::string("%#") + d.letter);
    const std::string sign = value.number() < 0 ? "-" : d.sign ? "+" : d.space ? " " : "";
    return sign + digits(d, value);
}

std::string padded(const Directive& d, std::string text, bool is_number)
{
    const size_t size = count_code_points(text);
    if (size >= d.width) return text;
    const size_t missing = d.width - size;
    if (d.left) return text + std::string(missing, ' ');
    const bool has_sign = !text.empty() && (text[0] == '-' || text[0] == '+' || text[0] == ' ');
    if (d.zero && is_number) return text.insert(has_sign ? 1 : 0, missing, '0');
    return std::string(missing, ' ') + text;
}

} // namespace

std::string format_percent(const std::string& format, const std::vector<Value>& values, Meter& meter)
{
    std::string out;
    size_t used = 0;
    for (size_t at = 0; at < format.size();) {
        if (format[at] != '%') {
            out += format[at++];
            continue;
        }
        const Directive d = read_directive(format, at);
        if (d.letter == '%') {
            out += '%';
            continue;
        }
        const bool is_text = d.letter == 's' || d.letter == 'r';
        if (!is_text && std::string_view("diuxXofeEgG").find(d.letter) == std::string_view::npos)
            unsupported(std::string("%") + d.letter);
        if (used == values.size()) fail_run(Text("a format has more directives than values"));
        const Value& value = values[used++];
        std::string text = !is_text          ? number_text(d, value)
                           : d.letter == 's' ? to_text(value, meter)
                                             : repr(value, meter);
        if (is_text && d.precision >= 0)
            text = to_utf8(code_points(text).substr(0, static_cast<size_t>(d.precision)));
        out += padded(d, std::move(text), !is_text);
        meter.make(d.width);
    }
    if (used < values.size()) fail_run(Text("a format has fewer directives than values"));
    meter.make(out.size());
    return out;
}

} // namespace palimpsest::engine::jinja
