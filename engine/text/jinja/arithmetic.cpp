#include "engine/text/jinja/arithmetic.h"

#include <cmath>

#include "engine/text/jinja/code_points.h"
#include "engine/text/jinja/failure.h"

namespace palimpsest::engine::jinja {

using syntax::BinaryOperator;

namespace {

const char* symbol(BinaryOperator operation)
{
    constexpr const char* symbols[] = {"or", "and", "+", "-", "*", "/", "//", "%", "**"};
    return symbols[static_cast<size_t>(operation)];
}

[[noreturn]] void too_large()
{
    fail_run(Text("an integer has more than 64 bits"));
}

[[noreturn]] void unsupported(BinaryOperator operation, const Value& a, const Value& b)
{
    for (const Value* operand : {&a, &b})
        if (operand->is(Value::Kind::Undefined)) fail_run(operand->why_undefined());
    fail_run(Text("'{0}' is not supported between {1} and {2}", symbol(operation), a.type_name(), b.type_name()));
}

int64_t integer_power(int64_t base, int64_t exponent)
{
    int64_t result = 1;
    for (; exponent > 0; exponent >>= 1) {
        if ((exponent & 1) && __builtin_mul_overflow(result, base, &result)) too_large();
        if (exponent > 1 && __builtin_mul_overflow(base, base, &base)) too_large();
    }
    return result;
}

// Rounds towards minus infinity, as Python does.
int64_t floor_divide(int64_t a, int64_t b)
{
    if (a == INT64_MIN && b == -1) too_large();
    return a / b - ((a % b != 0 && (a % b < 0) != (b < 0)) ? 1 : 0);
}

Value integers(BinaryOperator operation, int64_t a, int64_t b)
{
    int64_t result = 0;
    bool overflow = false;
    switch (operation) {
    case BinaryOperator::Add:
        overflow = __builtin_add_overflow(a, b, &result);
        break;
    case BinaryOperator::Subtract:
        overflow = __builtin_sub_overflow(a, b, &result);
        break;
    case BinaryOperator::Multiply:
        overflow = __builtin_mul_overflow(a, b, &result);
        break;
    case BinaryOperator::Divide:
        return static_cast<double>(a) / static_cast<double>(b);
    case BinaryOperator::FloorDivide:
        return floor_divide(a, b);
    case BinaryOperator::Modulo:
        result = b == -1 ? 0 : a % b;
        if (result != 0 && (result < 0) != (b < 0)) result += b;
        break;
    case BinaryOperator::Power:
        if (b < 0) return std::pow(static_cast<double>(a), static_cast<double>(b));
        return integer_power(a, b);
    default:
        break;
    }
    if (overflow) too_large();
    return result;
}

Value floats(BinaryOperator operation, double a, double b)
{
    switch (operation) {
    case BinaryOperator::Add:
        return a + b;
    case BinaryOperator::Subtract:
        return a - b;
    case BinaryOperator::Multiply:
        return a * b;
    case BinaryOperator::Divide:
        return a / b;
    case BinaryOperator::FloorDivide:
        return std::floor(a / b);
    case BinaryOperator::Modulo: {
        const double rest = std::fmod(a, b);
        return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
    }
    default:
        return std::pow(a, b);
    }
}

Value numbers(BinaryOperator operation, const Value& a, const Value& b)
{
    const bool divides = operation == BinaryOperator::Divide || operation == BinaryOperator::FloorDivide ||
                         operation == BinaryOperator::Modulo;
    const bool inverts = operation == BinaryOperator::Power && a.number() == 0 && b.number() < 0;
    if ((divides && b.number() == 0) || inverts) fail_run(Text("it divides by zero"));
    return a.is_integer() && b.is_integer() ? integers(operation, a.integer(), b.integer())
                                            : floats(operation, a.number(), b.number());
}

Value joined_text(const Value& a, const Value& b, Meter& meter)
{
    const bool markup = a.is_markup() || b.is_markup();
    const auto part = [&](const Value& value) {
        return markup && !value.is_markup() ? escaped(value.text()) : value.text();
    };
    const uint64_t longest_escape = markup ? 5 : 1; // bytes per character: "&#34;"
    meter.make(longest_escape * (a.text().size() + b.text().size()));
    return Value(part(a) + part(b), markup);
}

Value joined_items(const Value& a, const Value& b, Meter& meter)
{
    meter.make((a.items().size() + b.items().size()) * sizeof(Value));
    std::vector<Value> items = a.items();
    items.insert(items.end(), b.items().begin(), b.items().end());
    return a.is_tuple() ? Value::tuple(std::move(items)) : Value::list(std::move(items));
}

Value repeated(const Value& value, int64_t count, Meter& meter)
{
    const auto times = static_cast<uint64_t>(std::max<int64_t>(count, 0));
    const bool is_text = value.is(Value::Kind::String);
    const uint64_t bytes = is_text ? value.text().size() : value.items().size() * sizeof(Value);
    uint64_t total = 0;
    if (__builtin_mul_overflow(bytes, times, &total)) total = UINT64_MAX;
    meter.make(total);
    if (is_text) {
        std::string text;
        for (uint64_t i = 0; bytes > 0 && i < times; ++i)
            text += value.text();
        return Value(std::move(text), value.is_markup());
    }
    std::vector<Value> items;
    for (uint64_t i = 0; bytes > 0 && i < times; ++i)
        items.insert(items.end(), value.items().begin(), value.items().end());
    return value.is_tuple() ? Value::tuple(std::move(items)) : Value::list(std::move(items));
}

bool is_repeatable(const Value& value)
{
    return value.is(Value::Kind::String) || value.is(Value::Kind::Sequence);
}

} // namespace

Value calculate(BinaryOperator operation, const Value& a, const Value& b, Meter& meter)
{
    if (operation == BinaryOperator::Modulo && a.is(Value::Kind::String))
        return format_percent(a.text(), b.is_tuple() ? b.items() : std::vector{b}, meter);
    if (a.is_number() && b.is_number()) return numbers(operation, a, b);
    if (operation == BinaryOperator::Add && a.kind() == b.kind()) {
        if (a.is(Value::Kind::String)) return joined_text(a, b, meter);
        if (a.is(Value::Kind::Sequence) && a.is_tuple() == b.is_tuple()) return joined_items(a, b, meter);
    }
    if (operation == BinaryOperator::Multiply && is_repeatable(a) && b.is_integer())
        return repeated(a, b.integer(), meter);
    if (operation == BinaryOperator::Multiply && is_repeatable(b) && a.is_integer())
        return repeated(b, a.integer(), meter);
    unsupported(operation, a, b);
}

Value negative(const Value& value)
{
    if (value.is(Value::Kind::Float)) return -value.number();
    if (value.is(Value::Kind::Undefined)) fail_run(value.why_undefined());
    if (!value.is_integer()) fail_run(Text("'{0}' is not supported for {1}", "-", value.type_name()));
    if (value.integer() == INT64_MIN) too_large();
    return -value.integer();
}

std::string escaped(const std::string& text)
{
    std::string out;
    for (const char c : text) {
        if (c == '&')
            out += "&amp;";
        else if (c == '<')
            out += "&lt;";
        else if (c == '>')
            out += "&gt;";
        else if (c == '"')
            out += "&#34;";
        else if (c == '\'')
            out += "&#39;";
        else
            out += c;
    }
    return out;
}

} // namespace palimpsest::engine::jinja
