// State and functions shared by the filters, tests, functions and methods of one rendering.
#pragma once

#include <ctime>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "engine/text/jinja/arguments.h"
#include "engine/text/jinja/value.h"

namespace palimpsest::engine::jinja {

struct Runtime {
    Meter meter;
    std::tm date;                                         // for strftime_now
    std::vector<std::unique_ptr<Namespace>> namespaces{}; // owned here, since they may refer to themselves
};

// Throw Error (Failed): PAL-TEMPLATE-02 for an unsupported name, -03 for errors that Python raises, too.
Value apply_filter(Runtime& runtime, std::string_view name, const Value& input, CallArguments arguments);
bool apply_test(Runtime& runtime, std::string_view name, const Value& input, CallArguments arguments);
// Null for an unknown name.
Native find_function(std::string_view name);
Native find_method(const Value& object, std::string_view name);

// "object.name" and "object[key]"; undefined if absent. Throws Error (Failed, PAL-TEMPLATE-03) for an undefined
// object, and for methods that modify a list or dict, which the sandbox forbids.
Value get_attribute(Runtime& runtime, const Value& object, std::string_view name);
Value get_item(Runtime& runtime, const Value& object, const Value& key);
// "object[first:last:step]"; None for an omitted part.
Value get_slice(Runtime& runtime, const Value& object, const Value& first, const Value& last, const Value& step);

// Tables of functions by name.
template<class Target>
struct Named {
    std::string_view name;
    Target target;
};
template<class Table>
auto find_named(const Table& table, std::string_view name) -> decltype(table[0].target)
{
    for (const auto& entry : table)
        if (entry.name == name) return entry.target;
    return nullptr;
}

} // namespace palimpsest::engine::jinja
