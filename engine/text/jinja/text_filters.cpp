// Filters of strings and numbers.

#include <array>
#include <charconv>
#include <cmath>
#include <cstdlib>

#include "engine/text/jinja/arithmetic.h"
#include "engine/text/jinja/code_points.h"
#include "engine/text/jinja/failure.h"
#include "engine/text/jinja/filters.h"
#include "engine/text/jinja/methods.h"
#include "engine/text/jinja/printing.h"
#include "kernels/base/printable.h"

namespace palimpsest::engine::jinja {
namespace {

using Kind = Value::Kind;

// Applies a string method to the input's text.
template<const char* const* Method>
Value by_method(Runtime& runtime, const Value& input, ArgumentReader& arguments)
{
    return find_string_method(*Method)(runtime, filter_text(runtime, input), arguments);
}
constexpr const char *strip_name = "strip", *upper_name = "upper", *lower_name = "lower",
                     *capitalize_name = "capitalize";

// Upper case after every character that begins a word, as in Jinja's filter; the method str.title differs.
Value title(Runtime& runtime, const Value& input, ArgumentReader&)
{
    const std::string text = filter_text(runtime, input);
    std::string out;
    bool begins = true;
    for (size_t at = 0; at < text.size();) {
        const size_t begin = at;
        const char32_t code = next_code_point(text, at);
        const std::string character = text.substr(begin, at - begin);
        out += begins ? upper(character) : lower(character);
        begins = is_space(code) || std::u32string_view(U"-({[<").find(code) != std::u32string_view::npos;
    }
    return out;
}

Value replace(Runtime& runtime, const Value& input, ArgumentReader& arguments)
{
    const std::string from = to_text(arguments.require("old"), runtime.meter);
    const std::string to = to_text(arguments.require("new"), runtime.meter);
    const Value count = arguments.next_or("count", None{});
    const int64_t most = count.is_integer() ? count.integer() : -1;
    return replaced(filter_text(runtime, input), from, to, most, runtime.meter);
}

Value indent(Runtime& runtime, const Value& input, ArgumentReader& arguments)
{
    const Value width = arguments.next_or("width", int64_t{4});
    const bool first = arguments.next_flag("first", false), blank = arguments.next_flag("blank", false);
    if (!width.is(Kind::String) && !width.is_integer())
        fail_run(Text("the width of 'indent' is neither an int nor a str"));
    if (width.is_integer() && width.integer() > 1000) fail_limit(Text("it indents by more than 1000 spaces"));
    const std::string margin = width.is(Kind::String)
                                   ? width.text()
                                   : std::string(static_cast<size_t>(std::max<int64_t>(width.integer(), 0)), ' ');
    const std::vector<std::string> lines = lines_of(filter_text(runtime, input) + "\n", false);
    std::string out = first ? margin : "";
    for (size_t i = 0; i < lines.size(); ++i) {
        runtime.meter.make(lines[i].size() + margin.size() + 1);
        if (i > 0) out += '\n';
        if (i > 0 && (blank || !lines[i].empty())) out += margin;
        out += lines[i];
    }
    return out;
}

Value tojson(Runtime& runtime, const Value& input, ArgumentReader& arguments)
{
    JsonStyle style;
    style.ensure_ascii = arguments.next_flag("ensure_ascii", false);
    const Value indent = arguments.next_or("indent", None{});
    const Value separators = arguments.next_or("separators", None{});
    style.sort_keys = arguments.next_flag("sort_keys", false);
    if (indent.is_integer() && indent.integer() > 1000) fail_limit(Text("it indents by more than 1000 spaces"));
    if (indent.is(Kind::String)) style.indent = indent.text();
    if (indent.is_integer())
        style.indent = std::string(static_cast<size_t>(std::max<int64_t>(indent.integer(), 0)), ' ');
    if (style.indent) style.item_separator = ",";
    if (separators.is(Kind::Sequence) && separators.items().size() == 2) {
        style.item_separator = to_text(separators.items()[0], runtime.meter);
        style.key_separator = to_text(separators.items()[1], runtime.meter);
    }
    return to_json(input, style, runtime.meter);
}

Value string(Runtime& runtime, const Value& input, ArgumentReader&)
{
    return input.is(Kind::String) ? input : Value(to_text(input, runtime.meter));
}

Value escape(Runtime& runtime, const Value& input, ArgumentReader&)
{
    if (input.is_markup()) return input;
    const std::string text = filter_text(runtime, input);
    runtime.meter.make(5 * text.size());
    return Value(escaped(text), true);
}
Value force_escape(Runtime& runtime, const Value& input, ArgumentReader&)
{
    const std::string text = filter_text(runtime, input);
    runtime.meter.make(5 * text.size());
    return Value(escaped(text), true);
}
Value safe(Runtime& runtime, const Value& input, ArgumentReader&)
{
    return Value(filter_text(runtime, input), true);
}

Value format(Runtime& runtime, const Value& input, ArgumentReader& arguments)
{
    return format_percent(filter_text(runtime, input), arguments.rest(), runtime.meter);
}

Value center(Runtime& runtime, const Value& input, ArgumentReader& arguments)
{
    const std::string text = filter_text(runtime, input);
    const int64_t width = arguments.next_integer("width", 80);
    const auto size = static_cast<int64_t>(count_code_points(text));
    if (width <= size) return text;
    if (width > 10000) fail_limit(Text("it centres a text in more than 10000 characters"));
    const int64_t missing = width - size, left = missing / 2 + (missing & width & 1); // as str.center
    return std::string(static_cast<size_t>(left), ' ') + text +
           std::string(static_cast<size_t>(missing - left), ' ');
}

Value wordcount(Runtime& runtime, const Value& input, ArgumentReader&)
{
    const std::string text = filter_text(runtime, input);
    int64_t words = 0;
    bool inside = false;
    for (size_t at = 0; at < text.size();) {
        const char32_t code = next_code_point(text, at);
        const bool is_word = is_letter(code) || is_decimal(code) || code == '_';
        words += is_word && !inside ? 1 : 0;
        inside = is_word;
    }
    return words;
}

std::optional<double> parse_float(std::string_view text)
{
    text = strip_space(text);
    if (text.starts_with('+')) text.remove_prefix(1);
    double number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (text.empty() || error != std::errc() || end != text.data() + text.size()) return std::nullopt;
    return number;
}

std::optional<Value> parse_integer(std::string_view text, int base)
{
    text = strip_space(text);
    if (text.starts_with('+')) text.remove_prefix(1);
    int64_t number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number, base);
    if (text.empty() || error != std::errc() || end != text.data() + text.size()) return std::nullopt;
    return Value(number);
}

std::optional<Value> truncated(double number)
{
    if (!(std::abs(number) < 9.2e18)) return std::nullopt;
    return Value(static_cast<int64_t>(number));
}

Value to_integer(Runtime&, const Value& input, ArgumentReader& arguments)
{
    Value fallback = arguments.next_or("default", int64_t{0});
    const int64_t base = arguments.next_integer("base", 10);
    if (base < 2 || base > 36) fail_run(Text("the base of an int is not between 2 and 36"));
    if (input.is_integer()) return input.integer();
    std::optional<Value> number;
    if (input.is(Kind::Float)) number = truncated(input.number());
    if (input.is(Kind::String)) {
        number = parse_integer(input.text(), static_cast<int>(base));
        if (!number)
            if (const auto parsed = parse_float(input.text())) number = truncated(*parsed);
    }
    if (input.is(Kind::Undefined)) fail_run(input.why_undefined());
    return number.value_or(std::move(fallback));
}

Value to_float(Runtime&, const Value& input, ArgumentReader& arguments)
{
    Value fallback = arguments.next_or("default", 0.0);
    if (input.is(Kind::Undefined)) fail_run(input.why_undefined());
    if (input.is_number()) return input.number();
    if (input.is(Kind::String))
        if (const auto number = parse_float(input.text())) return *number;
    return fallback;
}

Value absolute(Runtime&, const Value& input, ArgumentReader&)
{
    if (!input.is_number()) fail_run(Text("{0} needs a number, not {1}", "'abs'", input.type_name()));
    if (input.is(Kind::Float)) return std::abs(input.number());
    return input.integer() < 0 ? negative(input) : Value(input.integer());
}

// The decimal number nearest to the exact value, halves to the even digit, as in Python's round.
double rounded(double number, int64_t digits)
{
    if (digits < -308) return std::copysign(0.0, number);
    if (digits < 0) {
        const double unit = std::pow(10.0, static_cast<double>(-digits));
        return std::nearbyint(number / unit) * unit;
    }
    char buffer[400];
    const auto end = std::to_chars(std::begin(buffer), std::end(buffer), number, std::chars_format::fixed,
                                   static_cast<int>(std::min<int64_t>(digits, 60)));
    if (end.ec != std::errc()) return number;
    std::from_chars(std::begin(buffer), end.ptr, number);
    return number;
}

Value round(Runtime&, const Value& input, ArgumentReader& arguments)
{
    const int64_t digits = arguments.next_integer("precision", 0);
    const Value method = arguments.next_or("method", "common");
    if (!input.is_number()) fail_run(Text("{0} needs a number, not {1}", "'round'", input.type_name()));
    if (!method.is(Kind::String)) fail_run(Text("the method of 'round' is no str"));
    if (method.text() == "common") {
        if (input.is_integer() && digits >= 0) return input.integer();
        return rounded(input.number(), digits);
    }
    const double unit = std::pow(10.0, static_cast<double>(digits));
    if (method.text() == "ceil") return std::ceil(input.number() * unit) / unit;
    if (method.text() == "floor") return std::floor(input.number() * unit) / unit;
    fail_run(Text("'round' has no method '{0}'", printable(method.text())));
}

constexpr std::array<Named<Native>, 20> text_filters = {{{"abs", absolute},
                                                         {"capitalize", by_method<&capitalize_name>},
                                                         {"center", center},
                                                         {"e", escape},
                                                         {"escape", escape},
                                                         {"float", to_float},
                                                         {"forceescape", force_escape},
                                                         {"format", format},
                                                         {"indent", indent},
                                                         {"int", to_integer},
                                                         {"lower", by_method<&lower_name>},
                                                         {"replace", replace},
                                                         {"round", round},
                                                         {"safe", safe},
                                                         {"string", string},
                                                         {"title", title},
                                                         {"tojson", tojson},
                                                         {"trim", by_method<&strip_name>},
                                                         {"upper", by_method<&upper_name>},
                                                         {"wordcount", wordcount}}};

} // namespace

Native find_text_filter(std::string_view name)
{
    return find_named(text_filters, name);
}

std::string filter_text(Runtime& runtime, const Value& input)
{
    return to_text(input, runtime.meter);
}

} // namespace palimpsest::engine::jinja
