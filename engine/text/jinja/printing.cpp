#include "engine/text/jinja/printing.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "engine/text/jinja/code_points.h"
#include "engine/text/jinja/failure.h"
#include "engine/text/unicode/utf8.h"

namespace palimpsest::engine::jinja {
namespace {

std::string hex(char32_t code, size_t digits)
{
    std::string text(digits, '0');
    for (size_t i = digits; i-- > 0; code >>= 4)
        text[i] = "0123456789abcdef"[code & 15];
    return text;
}

void append_quoted(char32_t code, char quote, std::string& out)
{
    if (code == static_cast<char32_t>(quote) || code == '\\')
        out += '\\', append_utf8(code, out);
    else if (code == '\n')
        out += "\\n";
    else if (code == '\r')
        out += "\\r";
    else if (code == '\t')
        out += "\\t";
    else if (is_printable(code))
        append_utf8(code, out);
    else if (code < 0x100)
        out += "\\x" + hex(code, 2);
    else
        out += code < 0x10000 ? "\\u" + hex(code, 4) : "\\U" + hex(code, 8);
}

std::string quoted(const std::string& text, Meter& meter)
{
    meter.make(2 * text.size() + 2);
    const bool has_single = text.find('\'') != std::string::npos, has_double = text.find('"') != std::string::npos;
    const char quote = has_single && !has_double ? '"' : '\'';
    std::string out(1, quote);
    for (size_t at = 0; at < text.size();)
        append_quoted(next_code_point(text, at), quote, out);
    return out + quote;
}

void append_repr(const Value& value, std::string& out, Meter& meter);

void append_items(const std::vector<Value>& items, std::string& out, Meter& meter)
{
    for (size_t i = 0; i < items.size(); ++i) {
        if (i > 0) out += ", ";
        append_repr(items[i], out, meter);
    }
}

void append_dict(const Dict& dict, std::string& out, Meter& meter)
{
    out += '{';
    for (size_t i = 0; i < dict.size(); ++i) {
        if (i > 0) out += ", ";
        append_repr(dict.items()[i].first, out, meter);
        out += ": ";
        append_repr(dict.items()[i].second, out, meter);
    }
    out += '}';
}

void append_repr(const Value& value, std::string& out, Meter& meter)
{
    meter.step();
    switch (value.kind()) {
    case Value::Kind::String:
        out += quoted(value.text(), meter);
        return;
    case Value::Kind::Undefined:
        out += "Undefined";
        return;
    case Value::Kind::Dict:
        append_dict(value.dict(), out, meter);
        return;
    case Value::Kind::Sequence:
        out += value.is_tuple() ? '(' : '[';
        append_items(value.items(), out, meter);
        if (value.is_tuple() && value.items().size() == 1) out += ',';
        out += value.is_tuple() ? ')' : ']';
        return;
    default:
        out += to_text(value, meter);
    }
}

} // namespace

std::string float_text(double number)
{
    if (std::isnan(number)) return "nan";
    if (std::isinf(number)) return number < 0 ? "-inf" : "inf";
    char buffer[32];
    const double size = std::abs(number);
    const bool scientific = size != 0 && (size < 1e-4 || size >= 1e16);
    const auto format = scientific ? std::chars_format::scientific : std::chars_format::fixed;
    const auto end = std::to_chars(std::begin(buffer), std::end(buffer), number, format).ptr;
    std::string text(std::begin(buffer), end);
    if (!scientific && text.find('.') == std::string::npos) text += ".0";
    return text;
}

std::string to_text(const Value& value, Meter& meter)
{
    meter.step();
    switch (value.kind()) {
    case Value::Kind::Undefined:
        return {};
    case Value::Kind::None:
        return "None";
    case Value::Kind::Boolean:
        return value.boolean() ? "True" : "False";
    case Value::Kind::Integer:
        return std::to_string(value.integer());
    case Value::Kind::Float:
        return float_text(value.number());
    case Value::Kind::String:
        meter.make(value.text().size());
        return value.text();
    case Value::Kind::Function:
        return "<function>";
    case Value::Kind::Namespace:
        return "<Namespace>";
    case Value::Kind::Loop:
        return "<LoopContext " + std::to_string(value.loop().index + 1) + "/" +
               std::to_string(value.loop().items.size()) + ">";
    default:
        return repr(value, meter);
    }
}

std::string repr(const Value& value, Meter& meter)
{
    std::string out;
    append_repr(value, out, meter);
    meter.make(out.size());
    return out;
}

namespace {

class JsonWriter {
public:
    JsonWriter(const JsonStyle& style, Meter& meter) : style_(style), meter_(meter) {}

    void write(const Value& value, size_t level)
    {
        meter_.step();
        switch (value.kind()) {
        case Value::Kind::None:
            put("null");
            return;
        case Value::Kind::Boolean:
            put(value.boolean() ? "true" : "false");
            return;
        case Value::Kind::Integer:
            put(std::to_string(value.integer()));
            return;
        case Value::Kind::Float:
            put(json_float(value.number()));
            return;
        case Value::Kind::String:
            write_string(value.text());
            return;
        case Value::Kind::Sequence:
            write_list(value.items(), level);
            return;
        case Value::Kind::Dict:
            write_dict(value.dict(), level);
            return;
        default:
            fail_run(Text("a value of type {0} cannot be written as JSON", value.type_name()));
        }
    }
    std::string out;

private:
    static std::string json_float(double number)
    {
        if (std::isnan(number)) return "NaN";
        if (std::isinf(number)) return number < 0 ? "-Infinity" : "Infinity";
        return float_text(number);
    }
    void put(std::string_view text)
    {
        meter_.make(text.size());
        out += text;
    }
    void write_escape(char32_t code)
    {
        if (code >= 0x10000) {
            put("\\u" + hex(0xD800 + ((code - 0x10000) >> 10), 4));
            code = 0xDC00 + (code & 0x3FF);
        }
        put("\\u" + hex(code, 4));
    }
    void write_string(const std::string& text)
    {
        put("\"");
        for (size_t at = 0; at < text.size();) {
            const size_t begin = at;
            const char32_t code = next_code_point(text, at);
            constexpr std::u32string_view special = U"\"\\\n\r\t\f\b";
            const size_t which = special.find(code);
            if (which != std::u32string_view::npos)
                put(std::string("\\") + "\"\\nrtfb"[which]);
            else if (code < 0x20 || (style_.ensure_ascii && code >= 0x7F))
                write_escape(code);
            else
                put(std::string_view(text).substr(begin, at - begin));
        }
        put("\"");
    }
    void new_line(size_t level)
    {
        if (!style_.indent) return;
        put("\n");
        for (size_t i = 0; i < level; ++i)
            put(*style_.indent);
    }
    void write_list(const std::vector<Value>& items, size_t level)
    {
        if (items.empty()) return put("[]");
        put("[");
        for (size_t i = 0; i < items.size(); ++i) {
            if (i > 0) put(style_.item_separator);
            new_line(level + 1);
            write(items[i], level + 1);
        }
        new_line(level);
        put("]");
    }
    std::string key_text(const Value& key)
    {
        switch (key.kind()) {
        case Value::Kind::String:
            return key.text();
        case Value::Kind::None:
            return "null";
        case Value::Kind::Boolean:
            return key.boolean() ? "true" : "false";
        case Value::Kind::Integer:
            return std::to_string(key.integer());
        case Value::Kind::Float:
            return json_float(key.number());
        default:
            fail_run(Text("a {0} cannot be a key in JSON", key.type_name()));
        }
    }
    void write_dict(const Dict& dict, size_t level)
    {
        if (dict.size() == 0) return put("{}");
        meter_.make(dict.size() * sizeof(void*));
        std::vector<const std::pair<Value, Value>*> items;
        for (const auto& item : dict.items())
            items.push_back(&item);
        if (style_.sort_keys)
            std::stable_sort(items.begin(), items.end(),
                             [&](const auto* a, const auto* b) { return less(a->first, b->first, meter_); });
        put("{");
        for (size_t i = 0; i < items.size(); ++i) {
            if (i > 0) put(style_.item_separator);
            new_line(level + 1);
            write_string(key_text(items[i]->first));
            put(style_.key_separator);
            write(items[i]->second, level + 1);
        }
        new_line(level);
        put("}");
    }

    const JsonStyle& style_;
    Meter& meter_;
};

} // namespace

std::string to_json(const Value& value, const JsonStyle& style, Meter& meter)
{
    JsonWriter writer(style, meter);
    writer.write(value, 0);
    return std::move(writer.out);
}

} // namespace palimpsest::engine::jinja
