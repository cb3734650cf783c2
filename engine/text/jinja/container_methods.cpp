// Methods of lists, dicts and loops.

#include <algorithm>
#include <array>

#include "engine/text/jinja/failure.h"
#include "engine/text/jinja/methods.h"

namespace palimpsest::engine::jinja {
namespace {

Value get(Runtime& runtime, const Value& self, ArgumentReader& arguments)
{
    const Value key = arguments.require("key");
    Value fallback = arguments.next_or("default", None{});
    const Value* found = self.dict().find(key, runtime.meter);
    return found ? *found : fallback;
}

Value keys(Runtime& runtime, const Value& self, ArgumentReader&)
{
    return Value::list(iterate(self, runtime.meter));
}

Value values(Runtime& runtime, const Value& self, ArgumentReader&)
{
    runtime.meter.make(self.dict().size() * sizeof(Value));
    std::vector<Value> list;
    for (const auto& item : self.dict().items())
        list.push_back(item.second);
    return Value::list(std::move(list));
}

Value items(Runtime& runtime, const Value& self, ArgumentReader&)
{
    return items_of(self.dict(), runtime.meter);
}

Value copy(Runtime&, const Value& self, ArgumentReader&)
{
    return self; // values are immutable
}

Value count(Runtime& runtime, const Value& self, ArgumentReader& arguments)
{
    const Value wanted = arguments.require("value");
    return static_cast<int64_t>(std::count_if(self.items().begin(), self.items().end(), [&](const Value& item) {
        return equal(item, wanted, runtime.meter);
    }));
}

Value index(Runtime& runtime, const Value& self, ArgumentReader& arguments)
{
    const Value wanted = arguments.require("value");
    for (size_t i = 0; i < self.items().size(); ++i)
        if (equal(self.items()[i], wanted, runtime.meter)) return static_cast<int64_t>(i);
    fail_run(Text("'index' finds no such item in the list"));
}

Value cycle(Runtime&, const Value& self, ArgumentReader& arguments)
{
    const std::vector<Value> choices = arguments.rest();
    if (choices.empty()) fail_run(Text("loop.cycle needs an argument"));
    return choices[self.loop().index % choices.size()];
}

constexpr std::array<Named<Native>, 5> of_dicts = {
    {{"copy", copy}, {"get", get}, {"items", items}, {"keys", keys}, {"values", values}}};
constexpr std::array<Named<Native>, 3> of_lists = {{{"copy", copy}, {"count", count}, {"index", index}}};
constexpr std::array<Named<Native>, 1> of_loops = {{{"cycle", cycle}}};

} // namespace

Value items_of(const Dict& dict, Meter& meter)
{
    meter.make(dict.size() * (3 * sizeof(Value) + 64));
    std::vector<Value> list;
    for (const auto& [key, value] : dict.items())
        list.push_back(Value::tuple({key, value}));
    return Value::list(std::move(list));
}

Native find_method(const Value& object, std::string_view name)
{
    switch (object.kind()) {
    case Value::Kind::String:
        return find_string_method(name);
    case Value::Kind::Dict:
        return find_named(of_dicts, name);
    case Value::Kind::Sequence:
        return find_named(of_lists, name);
    case Value::Kind::Loop:
        return find_named(of_loops, name);
    default:
        return nullptr;
    }
}

} // namespace palimpsest::engine::jinja
