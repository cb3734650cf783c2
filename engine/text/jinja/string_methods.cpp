// Methods of strings.

#include <algorithm>
#include <array>

#include "engine/text/jinja/code_points.h"
#include "engine/text/jinja/failure.h"
#include "engine/text/jinja/methods.h"
#include "engine/text/jinja/printing.h"
#include "engine/text/jinja/substring_search.h"

namespace palimpsest::engine::jinja {
namespace {

Value like(const Value& self, std::string text)
{
    return Value(std::move(text), self.is_markup());
}

using Direction = SubstringSearch::Direction;

Value stripped(Runtime& runtime, const Value& self, ArgumentReader& arguments, bool at_start, bool at_end)
{
    const Value chars = arguments.next_or("chars", None{});
    if (chars.is(Value::Kind::None)) return like(self, std::string(strip(self.text(), at_start, at_end, is_space)));
    if (!chars.is(Value::Kind::String))
        fail_run(Text("{0} needs a str, not {1}", arguments.callee(), chars.type_name()));
    runtime.meter.make(chars.text().size() * sizeof(char32_t));
    std::u32string set = code_points(chars.text());
    std::sort(set.begin(), set.end());
    const auto in_set = [&](char32_t code) { return std::binary_search(set.begin(), set.end(), code); };
    return like(self, std::string(strip(self.text(), at_start, at_end, in_set)));
}

Value strip_both(Runtime& runtime, const Value& self, ArgumentReader& arguments)
{
    return stripped(runtime, self, arguments, true, true);
}
Value strip_left(Runtime& runtime, const Value& self, ArgumentReader& arguments)
{
    return stripped(runtime, self, arguments, true, false);
}
Value strip_right(Runtime& runtime, const Value& self, ArgumentReader& arguments)
{
    return stripped(runtime, self, arguments, false, true);
}

std::vector<Value> words(std::string_view text, int64_t most)
{
    std::vector<Value> parts;
    for (text = strip(text, true, false, is_space); !text.empty(); text = strip(text, true, false, is_space)) {
        if (most >= 0 && std::ssize(parts) == most) {
            parts.emplace_back(text);
            break;
        }
        size_t end = 0;
        for (size_t next = 0; next < text.size(); end = next)
            if (is_space(next_code_point(text, next))) break;
        parts.emplace_back(text.substr(0, end));
        text.remove_prefix(end);
    }
    return parts;
}

std::vector<Value> split_at(std::string_view text, const std::string& separator, int64_t most, Meter& meter)
{
    const SubstringSearch search(separator, meter);
    std::vector<Value> parts;
    for (size_t at = search.first(text); at != std::string_view::npos && (most < 0 || std::ssize(parts) < most);
         at = search.first(text)) {
        parts.emplace_back(text.substr(0, at));
        text.remove_prefix(at + separator.size());
    }
    parts.emplace_back(text);
    return parts;
}

std::vector<Value> split_at_last(std::string_view text, const std::string& separator, int64_t most, Meter& meter)
{
    const SubstringSearch search(separator, meter, Direction::Backward);
    std::vector<Value> parts;
    for (size_t at = search.last(text); at != std::string_view::npos && (most < 0 || std::ssize(parts) < most);
         at = search.last(text)) {
        parts.emplace_back(text.substr(at + separator.size()));
        text = text.substr(0, at);
    }
    parts.emplace_back(text);
    std::reverse(parts.begin(), parts.end());
    return parts;
}

std::string separator_of(const Value& value, Meter& meter)
{
    if (!value.is(Value::Kind::String)) fail_run(Text("a separator is a {0}, not a str", value.type_name()));
    if (value.text().empty()) fail_run(Text("a separator is empty"));
    meter.make(value.text().size());
    return value.text();
}

Value split(Runtime& runtime, const Value& self, ArgumentReader& arguments)
{
    const Value separator = arguments.next_or("sep", None{});
    const int64_t most = arguments.next_integer("maxsplit", -1);
    runtime.meter.make(self.text().size() * 16);
    if (separator.is(Value::Kind::None)) return Value::list(words(self.text(), most));
    return Value::list(split_at(self.text(), separator_of(separator, runtime.meter), most, runtime.meter));
}

Value split_right(Runtime& runtime, const Value& self, ArgumentReader& arguments)
{
    const Value separator = arguments.next_or("sep", None{});
    const int64_t most = arguments.next_integer("maxsplit", -1);
    runtime.meter.make(self.text().size() * 16);
    if (separator.is(Value::Kind::None) && most < 0) return Value::list(words(self.text(), -1));
    if (separator.is(Value::Kind::None))
        fail_unsupported(
            Text("it calls {0} with the argument '{1}', which is not supported", arguments.callee(), "maxsplit"));
    return Value::list(split_at_last(self.text(), separator_of(separator, runtime.meter), most, runtime.meter));
}

Value split_lines(Runtime& runtime, const Value& self, ArgumentReader& arguments)
{
    const bool keeps_ends = arguments.next_flag("keepends", false);
    runtime.meter.make(self.text().size() * 16);
    std::vector<Value> lines;
    for (std::string& line : lines_of(self.text(), keeps_ends))
        lines.emplace_back(std::move(line));
    return Value::list(std::move(lines));
}

// Whether the argument, or one of its items, is a text for which `is_it` holds.
template<class IsIt>
bool any_text(Runtime& runtime, const Value& wanted, const Text& callee, const IsIt& is_it)
{
    const auto holds = [&](const Value& each) {
        runtime.meter.step();
        if (!each.is(Value::Kind::String)) return false;
        runtime.meter.step(each.text().size() / 64);
        return is_it(each.text());
    };
    if (wanted.is(Value::Kind::String)) return holds(wanted);
    if (!wanted.is_tuple())
        fail_run(Text("{0} needs a str or a tuple of str, not {1}", callee, wanted.type_name()));
    return std::any_of(wanted.items().begin(), wanted.items().end(), holds);
}

Value starts_with(Runtime& runtime, const Value& self, ArgumentReader& arguments)
{
    return any_text(runtime, arguments.require("prefix"), arguments.callee(),
                    [&](const std::string& text) { return self.text().starts_with(text); });
}
Value ends_with(Runtime& runtime, const Value& self, ArgumentReader& arguments)
{
    return any_text(runtime, arguments.require("suffix"), arguments.callee(),
                    [&](const std::string& text) { return self.text().ends_with(text); });
}

Value replace_method(Runtime& runtime, const Value& self, ArgumentReader& arguments)
{
    const std::string from = arguments.require_text("old"), to = arguments.require_text("new");
    const int64_t most = arguments.next_integer("count", -1);
    return like(self, replaced(self.text(), from, to, most, runtime.meter));
}

Value to_upper(Runtime& runtime, const Value& self, ArgumentReader&)
{
    runtime.meter.make(2 * self.text().size());
    return like(self, upper(self.text()));
}
Value to_lower(Runtime& runtime, const Value& self, ArgumentReader&)
{
    runtime.meter.make(2 * self.text().size());
    return like(self, lower(self.text()));
}
Value to_title(Runtime& runtime, const Value& self, ArgumentReader&)
{
    runtime.meter.make(2 * self.text().size());
    return like(self, title_case(self.text()));
}
Value capitalize(Runtime& runtime, const Value& self, ArgumentReader&)
{
    runtime.meter.make(2 * self.text().size());
    return like(self, capitalized(self.text()));
}

Value find(Runtime& runtime, const Value& self, ArgumentReader& arguments)
{
    const std::string wanted = arguments.require_text("sub");
    const size_t at = SubstringSearch(wanted, runtime.meter).first(self.text());
    if (at == std::string::npos) return int64_t{-1};
    return static_cast<int64_t>(count_code_points(std::string_view(self.text()).substr(0, at)));
}
Value find_right(Runtime& runtime, const Value& self, ArgumentReader& arguments)
{
    const std::string wanted = arguments.require_text("sub");
    const size_t at = SubstringSearch(wanted, runtime.meter, Direction::Backward).last(self.text());
    if (at == std::string::npos) return int64_t{-1};
    return static_cast<int64_t>(count_code_points(std::string_view(self.text()).substr(0, at)));
}

Value count(Runtime& runtime, const Value& self, ArgumentReader& arguments)
{
    const std::string wanted = arguments.require_text("sub");
    if (wanted.empty()) return static_cast<int64_t>(count_code_points(self.text())) + 1;
    const SubstringSearch search(wanted, runtime.meter);
    int64_t found = 0;
    for (size_t at = search.first(self.text()); at != std::string::npos;
         at = search.first(self.text(), at + wanted.size()))
        ++found;
    return found;
}

Value join_method(Runtime& runtime, const Value& self, ArgumentReader& arguments)
{
    std::string text;
    const std::vector<Value> parts = iterate(arguments.require("iterable"), runtime.meter);
    for (size_t i = 0; i < parts.size(); ++i) {
        if (!parts[i].is(Value::Kind::String))
            fail_run(Text("{0} needs a str, not {1}", "'join'", parts[i].type_name()));
        const std::string part = (i > 0 ? self.text() : "") + parts[i].text();
        runtime.meter.make(part.size());
        text += part;
    }
    return like(self, std::move(text));
}

Value remove_prefix(Runtime&, const Value& self, ArgumentReader& arguments)
{
    const std::string prefix = arguments.require_text("prefix");
    return like(self, self.text().starts_with(prefix) ? self.text().substr(prefix.size()) : self.text());
}
Value remove_suffix(Runtime&, const Value& self, ArgumentReader& arguments)
{
    const std::string suffix = arguments.require_text("suffix");
    const std::string& text = self.text();
    return like(self, text.ends_with(suffix) ? text.substr(0, text.size() - suffix.size()) : text);
}

Value parted(const Value& self, const std::string& separator, size_t at, bool from_left)
{
    const std::string& text = self.text();
    if (at != std::string::npos)
        return Value::tuple({text.substr(0, at), separator, text.substr(at + separator.size())});
    return from_left ? Value::tuple({text, "", ""}) : Value::tuple({"", "", text});
}
Value partition(Runtime& runtime, const Value& self, ArgumentReader& arguments)
{
    const std::string separator = separator_of(arguments.require("sep"), runtime.meter);
    return parted(self, separator, SubstringSearch(separator, runtime.meter).first(self.text()), true);
}
Value partition_right(Runtime& runtime, const Value& self, ArgumentReader& arguments)
{
    const std::string separator = separator_of(arguments.require("sep"), runtime.meter);
    const SubstringSearch search(separator, runtime.meter, Direction::Backward);
    return parted(self, separator, search.last(self.text()), false);
}

template<bool (*Accepts)(char32_t)>
Value all_are(Runtime&, const Value& self, ArgumentReader&)
{
    const std::u32string codes = code_points(self.text());
    return !codes.empty() && std::all_of(codes.begin(), codes.end(), Accepts);
}
bool is_letter_or_digit(char32_t code)
{
    return is_letter(code) || is_decimal(code);
}

Value only_lower(Runtime&, const Value& self, ArgumentReader&)
{
    return lower(self.text()) == self.text() && upper(self.text()) != self.text();
}
Value only_upper(Runtime&, const Value& self, ArgumentReader&)
{
    return upper(self.text()) == self.text() && lower(self.text()) != self.text();
}

constexpr std::array<Named<Native>, 30> methods = {{{"capitalize", capitalize},
                                                    {"count", count},
                                                    {"endswith", ends_with},
                                                    {"find", find},
                                                    {"format", format_braces},
                                                    {"isalnum", all_are<is_letter_or_digit>},
                                                    {"isalpha", all_are<is_letter>},
                                                    {"isdecimal", all_are<is_decimal>},
                                                    {"isdigit", all_are<is_decimal>},
                                                    {"islower", only_lower},
                                                    {"isnumeric", all_are<is_decimal>},
                                                    {"isspace", all_are<is_space>},
                                                    {"isupper", only_upper},
                                                    {"join", join_method},
                                                    {"lower", to_lower},
                                                    {"lstrip", strip_left},
                                                    {"partition", partition},
                                                    {"removeprefix", remove_prefix},
                                                    {"removesuffix", remove_suffix},
                                                    {"replace", replace_method},
                                                    {"rfind", find_right},
                                                    {"rpartition", partition_right},
                                                    {"rsplit", split_right},
                                                    {"rstrip", strip_right},
                                                    {"split", split},
                                                    {"splitlines", split_lines},
                                                    {"startswith", starts_with},
                                                    {"strip", strip_both},
                                                    {"title", to_title},
                                                    {"upper", to_upper}}};

bool ends_line(char32_t code)
{
    return (code >= 0x0A && code <= 0x0D) || (code >= 0x1C && code <= 0x1E) || code == 0x85 || code == 0x2028 ||
           code == 0x2029;
}

} // namespace

Native find_string_method(std::string_view name)
{
    return find_named(methods, name);
}

std::vector<std::string> lines_of(std::string_view text, bool keeps_ends)
{
    std::vector<std::string> lines;
    size_t begin = 0;
    for (size_t at = 0; at < text.size();) {
        const size_t end = at;
        const char32_t code = next_code_point(text, at);
        if (!ends_line(code)) continue;
        if (code == '\r' && at < text.size() && text[at] == '\n') ++at;
        lines.emplace_back(text.substr(begin, (keeps_ends ? at : end) - begin));
        begin = at;
    }
    if (begin < text.size()) lines.emplace_back(text.substr(begin));
    return lines;
}

std::string replaced(std::string_view text, const std::string& from, const std::string& to, int64_t most,
                     Meter& meter)
{
    const SubstringSearch search(from, meter);
    std::string out;
    size_t at = 0;
    for (int64_t done = 0; most < 0 || done < most; ++done) {
        size_t found = search.first(text, at);
        if (found == std::string_view::npos) break;
        if (from.empty() && done > 0) { // an empty `from` matches between all characters
            if (at == text.size()) break;
            found = at;
            next_code_point(text, found);
        }
        meter.make(found - at + to.size() + 1);
        out += text.substr(at, found - at);
        out += to;
        at = found + from.size();
    }
    meter.make(text.size() - at);
    out += text.substr(at);
    return out;
}

} // namespace palimpsest::engine::jinja
