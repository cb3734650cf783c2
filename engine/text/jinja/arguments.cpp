#include "engine/text/jinja/arguments.h"

#include <algorithm>

#include "engine/text/jinja/failure.h"

namespace palimpsest::engine::jinja {

std::optional<Value> ArgumentReader::named(std::string_view name)
{
    meter_.step(arguments_.named.size() / 8);
    const auto found = std::find_if(arguments_.named.begin(), arguments_.named.end(),
                                    [&](const auto& argument) { return argument.first == name; });
    if (found == arguments_.named.end()) return std::nullopt;
    Value value = std::move(found->second);
    arguments_.named.erase(found);
    return value;
}

std::optional<Value> ArgumentReader::next(std::string_view name)
{
    if (has_positional()) return std::move(arguments_.positional[at_++]);
    return named(name);
}

Value ArgumentReader::require(std::string_view name)
{
    auto value = next(name);
    if (!value) fail_run(callee_ + " needs an argument '" + std::string(name) + "'");
    return *std::move(value);
}

std::string ArgumentReader::require_text(std::string_view name)
{
    const Value value = require(name);
    if (value.is(Value::Kind::Undefined)) fail_run(value.why_undefined());
    if (!value.is(Value::Kind::String))
        fail_run(callee_ + ": the argument '" + std::string(name) + "' is a " + value.type_name() + ", not a str");
    meter_.make(value.text().size());
    return value.text();
}

int64_t ArgumentReader::next_integer(std::string_view name, int64_t fallback)
{
    const Value value = next_or(name, fallback);
    if (!value.is_integer())
        fail_run(callee_ + ": the argument '" + std::string(name) + "' is a " + value.type_name() + ", not an int");
    return value.integer();
}

std::vector<Value> ArgumentReader::rest()
{
    std::vector<Value> values(
        std::make_move_iterator(arguments_.positional.begin() + static_cast<std::ptrdiff_t>(at_)),
        std::make_move_iterator(arguments_.positional.end()));
    at_ = arguments_.positional.size();
    return values;
}

std::vector<std::pair<std::string, Value>> ArgumentReader::all_named()
{
    return std::exchange(arguments_.named, {});
}

void ArgumentReader::finish() const
{
    if (has_positional())
        fail_unsupported("more arguments than supported of " + callee_ + ", number", std::to_string(at_ + 1));
    if (!arguments_.named.empty()) fail_unsupported("of " + callee_ + " the argument", arguments_.named[0].first);
}

} // namespace palimpsest::engine::jinja
