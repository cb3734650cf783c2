// Filters of lists and dicts, and filters that choose between values, such as `default`.

#include <algorithm>
#include <array>

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

// Follows a path such as "a.b.0", as in the argument `attribute` of many filters.
Value attribute_of(Runtime& runtime, Value value, const Value& path)
{
    if (path.is_integer()) return get_item(runtime, value, path);
    if (!path.is(Kind::String)) fail_run(Text("an attribute's name is a {0}, not a str", path.type_name()));
    std::string_view rest = path.text();
    for (;;) {
        const size_t dot = rest.find('.');
        const std::string_view part = rest.substr(0, dot);
        const bool is_index =
            !part.empty() && part.size() < 10 && part.find_first_not_of("0123456789") == std::string_view::npos;
        const Value key = is_index ? Value(static_cast<int64_t>(std::stol(std::string(part)))) : Value(part);
        runtime.meter.step(1 + part.size() / 16);
        value = get_item(runtime, value, key);
        if (dot == std::string_view::npos) return value;
        rest.remove_prefix(dot + 1);
    }
}

Value folded(Runtime& runtime, const Value& value, bool case_sensitive)
{
    if (case_sensitive || !value.is(Kind::String)) return value;
    runtime.meter.make(2 * value.text().size());
    return Value(lower(value.text()));
}

// The keys that a filter compares: the items, or an attribute of each, in lower case unless `case_sensitive`.
std::vector<Value> sort_keys(Runtime& runtime, const std::vector<Value>& items, const Value& attribute,
                             bool case_sensitive)
{
    runtime.meter.make(items.size() * sizeof(Value));
    std::vector<Value> keys;
    keys.reserve(items.size());
    for (const Value& item : items)
        keys.push_back(folded(runtime, attribute.is(Kind::None) ? item : attribute_of(runtime, item, attribute),
                              case_sensitive));
    return keys;
}

std::vector<size_t> sorted_order(Runtime& runtime, const std::vector<Value>& keys, bool reverse)
{
    std::vector<size_t> order(keys.size());
    for (size_t i = 0; i < order.size(); ++i)
        order[i] = i;
    std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
        return reverse ? less(keys[b], keys[a], runtime.meter) : less(keys[a], keys[b], runtime.meter);
    });
    return order;
}

Value sort(Runtime& runtime, const Value& input, ArgumentReader& arguments)
{
    const bool reverse = arguments.next_flag("reverse", false);
    const bool case_sensitive = arguments.next_flag("case_sensitive", false);
    const Value attribute = arguments.next_or("attribute", None{});
    const std::vector<Value> items = iterate(input, runtime.meter);
    std::vector<Value> sorted;
    for (const size_t i : sorted_order(runtime, sort_keys(runtime, items, attribute, case_sensitive), reverse))
        sorted.push_back(items[i]);
    return Value::list(std::move(sorted));
}

Value dictsort(Runtime& runtime, const Value& input, ArgumentReader& arguments)
{
    const bool case_sensitive = arguments.next_flag("case_sensitive", false);
    const Value by = arguments.next_or("by", "key");
    const bool reverse = arguments.next_flag("reverse", false);
    if (!input.is(Kind::Dict)) fail_run(Text("{0} needs a dict, not {1}", "'dictsort'", input.type_name()));
    const Value items = items_of(input.dict(), runtime.meter);
    const Value part = by.is(Kind::String) && by.text() == "value" ? int64_t{1} : int64_t{0};
    std::vector<Value> sorted;
    for (const size_t i : sorted_order(runtime, sort_keys(runtime, items.items(), part, case_sensitive), reverse))
        sorted.push_back(items.items()[i]);
    return Value::list(std::move(sorted));
}

Value unique(Runtime& runtime, const Value& input, ArgumentReader& arguments)
{
    const bool case_sensitive = arguments.next_flag("case_sensitive", false);
    const Value attribute = arguments.next_or("attribute", None{});
    const std::vector<Value> items = iterate(input, runtime.meter);
    const std::vector<Value> keys = sort_keys(runtime, items, attribute, case_sensitive);
    Dict seen;
    std::vector<Value> kept;
    for (size_t i = 0; i < items.size(); ++i) {
        if (seen.find(keys[i], runtime.meter)) continue;
        seen.set(keys[i], None{}, runtime.meter);
        kept.push_back(items[i]);
    }
    return Value::list(std::move(kept));
}

template<bool Largest>
Value extreme(Runtime& runtime, const Value& input, ArgumentReader& arguments)
{
    const bool case_sensitive = arguments.next_flag("case_sensitive", false);
    const Value attribute = arguments.next_or("attribute", None{});
    const std::vector<Value> items = iterate(input, runtime.meter);
    if (items.empty()) return Value::undefined(Text("there is no item, so none is the largest or smallest"));
    const std::vector<Value> keys = sort_keys(runtime, items, attribute, case_sensitive);
    size_t best = 0;
    for (size_t i = 1; i < items.size(); ++i) {
        const bool better =
            Largest ? less(keys[best], keys[i], runtime.meter) : less(keys[i], keys[best], runtime.meter);
        if (better) best = i;
    }
    return items[best];
}

Value sum(Runtime& runtime, const Value& input, ArgumentReader& arguments)
{
    const Value attribute = arguments.next_or("attribute", None{});
    Value total = arguments.next_or("start", int64_t{0});
    for (const Value& item : iterate(input, runtime.meter))
        total = calculate(syntax::BinaryOperator::Add, total,
                          attribute.is(Kind::None) ? item : attribute_of(runtime, item, attribute), runtime.meter);
    return total;
}

Value join(Runtime& runtime, const Value& input, ArgumentReader& arguments)
{
    const std::string separator = to_text(arguments.next_or("d", ""), runtime.meter);
    const Value attribute = arguments.next_or("attribute", None{});
    const std::vector<Value> items = iterate(input, runtime.meter);
    std::string text;
    for (size_t i = 0; i < items.size(); ++i) {
        const std::string part = to_text(
            attribute.is(Kind::None) ? items[i] : attribute_of(runtime, items[i], attribute), runtime.meter);
        runtime.meter.make(part.size() + separator.size());
        if (i > 0) text += separator;
        text += part;
    }
    return text;
}

Value length_of(Runtime& runtime, const Value& input, ArgumentReader&)
{
    if (input.is(Kind::String)) runtime.meter.step(input.text().size() / 64);
    return length(input);
}
Value list(Runtime& runtime, const Value& input, ArgumentReader&)
{
    return Value::list(iterate(input, runtime.meter));
}
Value first(Runtime& runtime, const Value& input, ArgumentReader&)
{
    const std::vector<Value> items = iterate(input, runtime.meter);
    return items.empty() ? Value::undefined(Text("there is no first item")) : items.front();
}
Value last(Runtime& runtime, const Value& input, ArgumentReader&)
{
    const std::vector<Value> items = iterate(input, runtime.meter);
    return items.empty() ? Value::undefined(Text("there is no last item")) : items.back();
}

Value reverse(Runtime& runtime, const Value& input, ArgumentReader&)
{
    std::vector<Value> items = iterate(input, runtime.meter);
    std::reverse(items.begin(), items.end());
    if (!input.is(Kind::String)) return Value::list(std::move(items));
    std::string text;
    for (const Value& character : items)
        text += character.text();
    return text;
}

Value items(Runtime& runtime, const Value& input, ArgumentReader&)
{
    if (input.is(Kind::Undefined)) return Value::list({});
    if (!input.is(Kind::Dict)) fail_run(Text("{0} needs a dict, not {1}", "'items'", input.type_name()));
    return items_of(input.dict(), runtime.meter);
}

Value fallback(Runtime&, const Value& input, ArgumentReader& arguments)
{
    Value other = arguments.next_or("default_value", "");
    const bool also_false = arguments.next_flag("boolean", false);
    return input.is(Kind::Undefined) || (also_false && !input.truth()) ? other : input;
}

Value attribute(Runtime& runtime, const Value& input, ArgumentReader& arguments)
{
    return get_attribute(runtime, input, arguments.require_text("name"));
}

Value map(Runtime& runtime, const Value& input, ArgumentReader& arguments)
{
    const auto attribute = arguments.named("attribute");
    const auto missing = arguments.named("default");
    const std::string filter = attribute ? "" : arguments.require_text("filter");
    const CallArguments passed{arguments.rest(), arguments.all_named()};
    std::vector<Value> mapped = input.truth() ? iterate(input, runtime.meter) : std::vector<Value>();
    for (Value& item : mapped) {
        runtime.meter.step(passed.positional.size() + passed.named.size()); // copied for every item
        item = attribute ? attribute_of(runtime, item, *attribute) : apply_filter(runtime, filter, item, passed);
        if (attribute && missing && item.is(Kind::Undefined)) item = *missing;
    }
    return Value::list(std::move(mapped));
}

// The items for which a test of the item, or of its attribute, gives `wanted`. Without a test, the value's own
// truth decides.
Value chosen(Runtime& runtime, const Value& input, ArgumentReader& arguments, bool by_attribute, bool wanted)
{
    const Value attribute = by_attribute ? arguments.require("attribute") : Value(None{});
    const std::string test = arguments.has_positional() ? arguments.require_text("test") : "";
    const CallArguments passed{arguments.rest(), arguments.all_named()};
    std::vector<Value> kept;
    if (!input.truth()) return Value::list({}); // also for None, as in Jinja
    for (const Value& item : iterate(input, runtime.meter)) {
        runtime.meter.step(passed.positional.size() + passed.named.size()); // copied for every item
        const Value value = by_attribute ? attribute_of(runtime, item, attribute) : item;
        const bool holds = test.empty() ? value.truth() : apply_test(runtime, test, value, passed);
        if (holds == wanted) kept.push_back(item);
    }
    return Value::list(std::move(kept));
}
template<bool ByAttribute, bool Wanted>
Value choose(Runtime& runtime, const Value& input, ArgumentReader& arguments)
{
    return chosen(runtime, input, arguments, ByAttribute, Wanted);
}

constexpr std::array<Named<Native>, 22> sequence_filters = {{{"attr", attribute},
                                                             {"count", length_of},
                                                             {"d", fallback},
                                                             {"default", fallback},
                                                             {"dictsort", dictsort},
                                                             {"first", first},
                                                             {"items", items},
                                                             {"join", join},
                                                             {"last", last},
                                                             {"length", length_of},
                                                             {"list", list},
                                                             {"map", map},
                                                             {"max", extreme<true>},
                                                             {"min", extreme<false>},
                                                             {"reject", choose<false, false>},
                                                             {"rejectattr", choose<true, false>},
                                                             {"reverse", reverse},
                                                             {"select", choose<false, true>},
                                                             {"selectattr", choose<true, true>},
                                                             {"sort", sort},
                                                             {"sum", sum},
                                                             {"unique", unique}}};

} // namespace

Native find_sequence_filter(std::string_view name)
{
    return find_named(sequence_filters, name);
}

Value apply_filter(Runtime& runtime, std::string_view name, const Value& input, CallArguments arguments)
{
    const Meter::Level level(runtime.meter); // filters such as map call filters
    const Native in_text = find_text_filter(name);
    const Native filter = in_text ? in_text : find_sequence_filter(name);
    if (!filter) fail_unsupported(Text("it uses filter '{0}', which is not supported", printable(name)));
    ArgumentReader reader(Text("filter '{0}'", name), std::move(arguments), runtime.meter);
    Value result = filter(runtime, input, reader);
    reader.finish();
    return result;
}

} // namespace palimpsest::engine::jinja
