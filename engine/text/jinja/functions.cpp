// The global functions of templates.

#include <array>

#include "engine/text/jinja/date.h"
#include "engine/text/jinja/failure.h"
#include "engine/text/jinja/printing.h"
#include "engine/text/jinja/runtime.h"

namespace palimpsest::engine::jinja {
namespace {

Value range(Runtime& runtime, const Value&, ArgumentReader& arguments)
{
    int64_t first = 0, last = arguments.next_integer("start", 0);
    if (arguments.has_positional()) {
        first = last;
        last = arguments.next_integer("stop", 0);
    }
    const int64_t step = arguments.next_integer("step", 1);
    if (step == 0) fail_run(Text("the step of a range is 0"));
    const auto before_last = [&](int64_t value) { return step > 0 ? value < last : value > last; };
    std::vector<Value> items;
    for (int64_t value = first; before_last(value);) {
        if (std::ssize(items) == limits::range_items)
            fail_limit(Text("it uses a range of more than {0} numbers", limits::range_items));
        runtime.meter.make(sizeof(Value));
        items.emplace_back(value);
        if (__builtin_add_overflow(value, step, &value)) break;
    }
    return Value::list(std::move(items));
}

// The values that dict(a=1) or dict(other, a=1) contains; namespace() takes the same arguments.
Dict named_values(Runtime& runtime, ArgumentReader& arguments)
{
    Dict dict;
    if (arguments.has_positional()) {
        const Value other = arguments.require("mapping");
        if (other.is(Value::Kind::Dict)) {
            runtime.meter.make(other.dict().size() * 2 * sizeof(Value) + other.dict().key_bytes());
            dict = other.dict();
        } else {
            for (const Value& pair : iterate(other, runtime.meter)) {
                if (!pair.is(Value::Kind::Sequence) || pair.items().size() != 2)
                    fail_run(Text("a dict can be made of pairs only"));
                dict.set(pair.items()[0], pair.items()[1], runtime.meter);
            }
        }
    }
    for (auto& [name, value] : arguments.all_named())
        dict.set(Value(name), std::move(value), runtime.meter);
    return dict;
}

Value make_dict(Runtime& runtime, const Value&, ArgumentReader& arguments)
{
    return named_values(runtime, arguments);
}

Value make_namespace(Runtime& runtime, const Value&, ArgumentReader& arguments)
{
    runtime.meter.make(sizeof(Namespace));
    auto made = std::make_unique<Namespace>();
    const Dict values = named_values(runtime, arguments);
    runtime.meter.make(values.key_bytes());
    for (const auto& [name, value] : values.items())
        if (name.is(Value::Kind::String)) made->attributes[name.text()] = value;
    runtime.namespaces.push_back(std::move(made));
    return runtime.namespaces.back().get();
}

Value raise_exception(Runtime& runtime, const Value&, ArgumentReader& arguments)
{
    fail_raised(to_text(arguments.next_or("message", ""), runtime.meter));
}

Value strftime_now(Runtime& runtime, const Value&, ArgumentReader& arguments)
{
    const std::string format = arguments.require_text("format");
    runtime.meter.make(16 * format.size());
    return format_date(runtime.date, format);
}

constexpr std::array<Named<Native>, 5> functions = {{{"dict", make_dict},
                                                     {"namespace", make_namespace},
                                                     {"raise_exception", raise_exception},
                                                     {"range", range},
                                                     {"strftime_now", strftime_now}}};

} // namespace

Native find_function(std::string_view name)
{
    return find_named(functions, name);
}

} // namespace palimpsest::engine::jinja
