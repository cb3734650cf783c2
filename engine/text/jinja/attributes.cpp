// Attributes, items and slices of values.

#include <algorithm>
#include <array>

#include "engine/text/jinja/code_points.h"
#include "engine/text/jinja/failure.h"
#include "engine/text/jinja/printing.h"
#include "engine/text/jinja/runtime.h"
#include "kernels/base/printable.h"

namespace palimpsest::engine::jinja {
namespace {

Value missing(const Value& object, const std::string& name)
{
    return Value::undefined(Text("'{0} object' has no attribute '{1}'", object.type_name(), printable(name)));
}

// The sandbox of transformers forbids methods that modify a list or dict.
void refuse_changes(const Value& object, std::string_view name)
{
    constexpr std::array of_lists = {"append", "clear", "extend", "insert", "pop", "remove", "reverse", "sort"};
    constexpr std::array of_dicts = {"clear", "pop", "popitem", "setdefault", "update"};
    const bool changes_list = object.is(Value::Kind::Sequence) && !object.is_tuple() &&
                              std::find(of_lists.begin(), of_lists.end(), name) != of_lists.end();
    const bool changes_dict =
        object.is(Value::Kind::Dict) && std::find(of_dicts.begin(), of_dicts.end(), name) != of_dicts.end();
    if (changes_list || changes_dict)
        fail_run(Text("it changes a {0} with '{1}', which templates may not do", object.type_name(), name));
}

Value item_at(const std::vector<Value>& items, size_t index)
{
    return index < items.size() ? items[index] : Value::undefined(Text("there is no item of this index"));
}

Value loop_attribute(const Value& value, std::string_view name)
{
    const LoopState& loop = value.loop();
    const auto index = static_cast<int64_t>(loop.index), count = static_cast<int64_t>(loop.items.size());
    if (name == "index") return index + 1;
    if (name == "index0") return index;
    if (name == "revindex") return count - index;
    if (name == "revindex0") return count - index - 1;
    if (name == "first") return index == 0;
    if (name == "last") return index + 1 == count;
    if (name == "length") return count;
    if (name == "depth") return static_cast<int64_t>(loop.loop_depth);
    if (name == "depth0") return static_cast<int64_t>(loop.loop_depth) - 1;
    if (name == "nextitem") return item_at(loop.items, loop.index + 1);
    if (name == "previtem")
        return index > 0 ? loop.items[loop.index - 1] : Value::undefined(Text("there is no previous item"));
    return missing(value, std::string(name));
}

std::optional<Value> method(const Value& object, std::string_view name)
{
    const Native native = find_method(object, name);
    if (!native) return std::nullopt;
    return Value(std::make_shared<Function>(Function{.name = std::string(name), .native = native, .self = object}));
}

Value character_at(Runtime& runtime, const std::string& text, int64_t index)
{
    runtime.meter.step(text.size() / 16);
    const auto count = static_cast<int64_t>(count_code_points(text));
    if (index < 0) index += count;
    if (index < 0 || index >= count) return Value::undefined(Text("there is no character of this index"));
    size_t at = 0;
    for (int64_t i = 0; i < index; ++i)
        next_code_point(text, at);
    const size_t begin = at;
    next_code_point(text, at);
    return text.substr(begin, at - begin);
}

std::optional<Value> find_item(Runtime& runtime, const Value& object, const Value& key)
{
    if (object.is(Value::Kind::Dict)) {
        const Value* found = object.dict().find(key, runtime.meter);
        return found ? std::optional(*found) : std::nullopt;
    }
    if (!key.is_integer()) return std::nullopt;
    int64_t index = key.integer();
    if (object.is(Value::Kind::String)) return character_at(runtime, object.text(), index);
    if (!object.is(Value::Kind::Sequence)) return std::nullopt;
    if (index < 0) index += static_cast<int64_t>(object.items().size());
    if (index < 0) return Value::undefined(Text("there is no item of this index"));
    return item_at(object.items(), static_cast<size_t>(index));
}

} // namespace

Value get_attribute(Runtime& runtime, const Value& object, std::string_view name)
{
    if (object.is(Value::Kind::Undefined)) fail_run(object.why_undefined());
    runtime.meter.step(name.size() / 16);
    refuse_changes(object, name);
    if (auto bound = method(object, name)) return *std::move(bound);
    if (object.is(Value::Kind::Loop)) return loop_attribute(object, name);
    if (object.is(Value::Kind::Namespace)) {
        const auto& attributes = object.name_space()->attributes;
        const auto found = attributes.find(name);
        return found == attributes.end() ? missing(object, std::string(name)) : found->second;
    }
    if (auto item = find_item(runtime, object, Value(name))) return *std::move(item);
    return missing(object, std::string(name));
}

Value get_item(Runtime& runtime, const Value& object, const Value& key)
{
    if (object.is(Value::Kind::Undefined)) fail_run(object.why_undefined());
    if (auto item = find_item(runtime, object, key)) return *std::move(item);
    if (key.is(Value::Kind::String)) return get_attribute(runtime, object, key.text());
    return missing(object, repr(key, runtime.meter));
}

namespace {

struct Bounds {
    int64_t first, last, step; // last: exclusive; -1 if a backward slice reaches the start
};

// Like Python's slice.indices.
Bounds bounds(const Value& first, const Value& last, const Value& step, int64_t length)
{
    const auto integer = [](const Value& value) {
        if (!value.is_integer()) fail_run(Text("a slice needs int, not {0}", value.type_name()));
        return value.integer();
    };
    const auto given = [](const Value& value) { return !value.is(Value::Kind::None); };
    const int64_t by = given(step) ? integer(step) : 1;
    if (by == 0) fail_run(Text("the step of a slice is 0"));
    const int64_t lowest = by > 0 ? 0 : -1, highest = by > 0 ? length : length - 1;
    const auto within = [&](int64_t index) {
        return std::clamp(index < 0 ? index + length : index, lowest, highest);
    };
    return {given(first) ? within(integer(first))
            : by > 0     ? lowest
                         : highest,
            given(last) ? within(integer(last))
            : by > 0    ? highest
                        : lowest,
            by};
}

template<class Visit>
void each_index(const Bounds& b, int64_t length, const Visit& visit)
{
    const int64_t step = std::clamp(b.step, -length - 1, length + 1); // avoids overflow of i
    for (int64_t i = b.first; step > 0 ? i < b.last : i > b.last; i += step)
        visit(static_cast<size_t>(i));
}

} // namespace

Value get_slice(Runtime& runtime, const Value& object, const Value& first, const Value& last, const Value& step)
{
    if (object.is(Value::Kind::Undefined)) fail_run(object.why_undefined());
    const bool is_text = object.is(Value::Kind::String);
    if (!is_text && !object.is(Value::Kind::Sequence)) fail_run(Text("a {0} cannot be sliced", object.type_name()));
    const int64_t count = length(object);
    const Bounds range = bounds(first, last, step, count);
    if (is_text) {
        runtime.meter.make(4 * object.text().size());
        const std::u32string codes = code_points(object.text());
        std::u32string part;
        each_index(range, count, [&](size_t i) { part += codes[i]; });
        return Value(to_utf8(part), object.is_markup());
    }
    runtime.meter.make(object.items().size() * sizeof(Value));
    std::vector<Value> part;
    each_index(range, count, [&](size_t i) { part.push_back(object.items()[i]); });
    return object.is_tuple() ? Value::tuple(std::move(part)) : Value::list(std::move(part));
}

} // namespace palimpsest::engine::jinja
