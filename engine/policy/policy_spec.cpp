#include "engine/policy/policy_spec.h"

#include "kernels/base/error.h"
#include "kernels/base/printable.h"

namespace palimpsest::engine {

namespace {

[[noreturn]] void refuse(ErrorCode code, std::string_view text, Text what)
{
    throw Error(ErrorKind::Usage, code, Text("policy '{0}'", printable(text)), std::move(what),
                Text("write NAME or NAME:key=value,key=value"));
}

void add_parameter(PolicySpec& spec, std::string_view pair, std::string_view text)
{
    const size_t equals = pair.find('=');
    if (equals == std::string_view::npos || equals == 0) {
        refuse(ErrorCode::UnknownPolicyParameter, text, Text("'{0}' is not key=value", printable(pair)));
    }
    const std::string key(pair.substr(0, equals));
    const std::string value(pair.substr(equals + 1));
    if (value.empty())
        refuse(ErrorCode::InvalidPolicyParameter, text, Text("parameter '{0}' has no value", printable(key)));
    if (!spec.parameters.emplace(key, value).second) {
        refuse(ErrorCode::UnknownPolicyParameter, text, Text("parameter '{0}' is given twice", printable(key)));
    }
}

} // namespace

PolicySpec PolicySpec::parse(std::string_view text)
{
    PolicySpec spec;
    const size_t colon = text.find(':');
    spec.name = text.substr(0, colon);
    if (spec.name.empty()) refuse(ErrorCode::UnknownPolicy, text, Text("the name is missing"));
    if (colon == std::string_view::npos) return spec;

    std::string_view rest = text.substr(colon + 1);
    for (;;) {
        const size_t comma = rest.find(',');
        add_parameter(spec, rest.substr(0, comma), text);
        if (comma == std::string_view::npos) return spec;
        rest.remove_prefix(comma + 1);
    }
}

std::string PolicySpec::text() const
{
    std::string out = name;
    char separator = ':';
    for (const auto& [key, value] : parameters) {
        (out += separator).append(key).append("=").append(value);
        separator = ',';
    }
    return out;
}

PolicySpec with_original_defaults(PolicySpec given, const PolicySpec& resolved)
{
    for (const auto& [key, value] : resolved.parameters) {
        const bool had_no_floor = key == "floor" && value == "0" && given.name == "refreekv";
        if (key == "norm" || key == "mask_sinks" || had_no_floor) given.parameters.emplace(key, value);
    }
    return given;
}

} // namespace palimpsest::engine
