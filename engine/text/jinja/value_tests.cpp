// Tests, as in "value is defined".

#include <algorithm>
#include <array>
#include <cmath>

#include "engine/text/jinja/code_points.h"
#include "engine/text/jinja/failure.h"
#include "engine/text/jinja/printing.h"
#include "engine/text/jinja/runtime.h"
#include "kernels/base/printable.h"

namespace palimpsest::engine::jinja {
namespace {

using Kind = Value::Kind;
using ValueTest = bool (*)(Runtime& runtime, const Value& value, ArgumentReader& arguments);

template<Kind Wanted>
bool is_kind(Runtime&, const Value& value, ArgumentReader&)
{
    return value.is(Wanted);
}
bool is_defined(Runtime&, const Value& value, ArgumentReader&)
{
    return !value.is(Kind::Undefined);
}
bool is_number(Runtime&, const Value& value, ArgumentReader&)
{
    return value.is_number();
}
bool is_true(Runtime&, const Value& value, ArgumentReader&)
{
    return value.is(Kind::Boolean) && value.boolean();
}
bool is_false(Runtime&, const Value& value, ArgumentReader&)
{
    return value.is(Kind::Boolean) && !value.boolean();
}
bool is_sequence(Runtime&, const Value& value, ArgumentReader&)
{
    return value.is(Kind::String) || value.is(Kind::Sequence) || value.is(Kind::Dict) || value.is(Kind::Undefined);
}
bool is_iterable(Runtime& runtime, const Value& value, ArgumentReader& arguments)
{
    return is_sequence(runtime, value, arguments) || value.is(Kind::Loop);
}
int64_t remainder(const Value& value, int64_t divisor)
{
    if (!value.is_integer()) fail_run(Text("a {0} is no int", value.type_name()));
    if (divisor == 0) fail_run(Text("it divides by zero"));
    return divisor == -1 ? 0 : value.integer() % divisor;
}
bool is_odd(Runtime&, const Value& value, ArgumentReader&)
{
    return remainder(value, 2) != 0;
}
bool is_even(Runtime&, const Value& value, ArgumentReader&)
{
    return remainder(value, 2) == 0;
}
bool is_divisible(Runtime&, const Value& value, ArgumentReader& arguments)
{
    return remainder(value, arguments.next_integer("num", 0)) == 0;
}
bool is_equal(Runtime& runtime, const Value& value, ArgumentReader& arguments)
{
    return equal(value, arguments.require("other"), runtime.meter);
}
bool is_unequal(Runtime& runtime, const Value& value, ArgumentReader& arguments)
{
    return !equal(value, arguments.require("other"), runtime.meter);
}
bool is_less(Runtime& runtime, const Value& value, ArgumentReader& arguments)
{
    return less(value, arguments.require("other"), runtime.meter);
}
bool is_greater(Runtime& runtime, const Value& value, ArgumentReader& arguments)
{
    return less(arguments.require("other"), value, runtime.meter);
}
bool is_at_most(Runtime& runtime, const Value& value, ArgumentReader& arguments)
{
    const Value other = arguments.require("other");
    return less(value, other, runtime.meter) || equal(value, other, runtime.meter);
}
bool is_at_least(Runtime& runtime, const Value& value, ArgumentReader& arguments)
{
    const Value other = arguments.require("other");
    return less(other, value, runtime.meter) || equal(value, other, runtime.meter);
}
bool is_in(Runtime& runtime, const Value& value, ArgumentReader& arguments)
{
    return contains(arguments.require("seq"), value, runtime.meter);
}
bool is_same(Runtime& runtime, const Value& value, ArgumentReader& arguments)
{
    const Value other = arguments.require("other");
    return value.kind() == other.kind() && equal(value, other, runtime.meter);
}
bool is_lower_text(Runtime& runtime, const Value& value, ArgumentReader&)
{
    const std::string text = to_text(value, runtime.meter);
    runtime.meter.make(2 * text.size());
    return lower(text) == text && upper(text) != text;
}
bool is_upper_text(Runtime& runtime, const Value& value, ArgumentReader&)
{
    const std::string text = to_text(value, runtime.meter);
    runtime.meter.make(2 * text.size());
    return upper(text) == text && lower(text) != text;
}
bool is_escaped(Runtime&, const Value& value, ArgumentReader&)
{
    return value.is_markup();
}

constexpr std::array<Named<ValueTest>, 37> tests = {{{"!=", is_unequal},
                                                     {"<", is_less},
                                                     {"<=", is_at_most},
                                                     {"==", is_equal},
                                                     {">", is_greater},
                                                     {">=", is_at_least},
                                                     {"boolean", is_kind<Kind::Boolean>},
                                                     {"callable", is_kind<Kind::Function>},
                                                     {"defined", is_defined},
                                                     {"divisibleby", is_divisible},
                                                     {"eq", is_equal},
                                                     {"equalto", is_equal},
                                                     {"escaped", is_escaped},
                                                     {"even", is_even},
                                                     {"false", is_false},
                                                     {"float", is_kind<Kind::Float>},
                                                     {"ge", is_at_least},
                                                     {"greaterthan", is_greater},
                                                     {"gt", is_greater},
                                                     {"in", is_in},
                                                     {"integer", is_kind<Kind::Integer>},
                                                     {"iterable", is_iterable},
                                                     {"le", is_at_most},
                                                     {"lessthan", is_less},
                                                     {"lower", is_lower_text},
                                                     {"lt", is_less},
                                                     {"mapping", is_kind<Kind::Dict>},
                                                     {"ne", is_unequal},
                                                     {"none", is_kind<Kind::None>},
                                                     {"number", is_number},
                                                     {"odd", is_odd},
                                                     {"sameas", is_same},
                                                     {"sequence", is_sequence},
                                                     {"string", is_kind<Kind::String>},
                                                     {"true", is_true},
                                                     {"undefined", is_kind<Kind::Undefined>},
                                                     {"upper", is_upper_text}}};

} // namespace

bool apply_test(Runtime& runtime, std::string_view name, const Value& input, CallArguments arguments)
{
    const Meter::Level level(runtime.meter);
    const ValueTest test = find_named(tests, name);
    if (!test) fail_unsupported(Text("it uses test '{0}', which is not supported", printable(name)));
    ArgumentReader reader(Text("test '{0}'", name), std::move(arguments), runtime.meter);
    const bool result = test(runtime, input, reader);
    reader.finish();
    return result;
}

} // namespace palimpsest::engine::jinja
