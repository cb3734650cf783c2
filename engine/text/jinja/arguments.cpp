#include "engine/text/jinja/arguments.h"

#include <algorithm>

#include "engine/text/jinja/failure.h"
#include "kernels/base/printable.h"

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
    if (!value) fail_run(Text("{0} needs an argument '{1}'", callee_, name));
    return *std::move(value);
}

std::string ArgumentReader::require_text(std::string_view name)
{
    const Value value = require(name);
    if (value.is(Value::Kind::Undefined)) fail_run(value.why_undefined());
    if (!value.is(Value::Kind::String))
        fail_run(Text("{0}: the argument '{1}' is a {2}, not a str", callee_, name, value.type_name()));
    meter_.make(value.text().size());
    return value.text();
}

int64_t ArgumentReader::next_integer(std::string_view name, int64_t fallback)
{
    const Value value = next_or(name, fallback);
    if (!value.is_integer())
        fail_run(Text("{0}: the argument '{1}' is a {2}, not an int", callee_, name, value.type_name()));
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
        fail_unsupported(Text("it calls {0} with argument {1}, which is not supported", callee_, at_ + 1));
    if (!arguments_.named.empty())
        fail_unsupported(Text("it calls {0} with the argument '{1}', which is not supported", callee_,
                              printable(arguments_.named[0].first)));
}

} // namespace palimpsest::engine::jinja
