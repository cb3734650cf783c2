#include "engine/policy/policy_spec.h"

#include "kernels/base/error.h"

namespace palimpsest::engine {

namespace {

constexpr const char* form = "write NAME or NAME:key=value,key=value";

std::string in_quotes(std::string_view text)
{
    return std::string("'").append(printable(text)).append("'");
}

[[noreturn]] void refuse(const std::string& code, std::string_view text, const std::string& what)
{
    throw Error(ErrorKind::Usage, code, "policy " + in_quotes(text), what, form);
}

void add_parameter(PolicySpec& spec, std::string_view pair, std::string_view text)
{
    const size_t equals = pair.find('=');
    if (equals == std::string_view::npos || equals == 0) {
        refuse("PAL-POLICY-02", text, in_quotes(pair) + " is not key=value");
    }
    const std::string key(pair.substr(0, equals));
    const std::string value(pair.substr(equals + 1));
    if (value.empty()) refuse("PAL-POLICY-03", text, "parameter " + in_quotes(key) + " has no value");
    if (!spec.parameters.emplace(key, value).second) {
        refuse("PAL-POLICY-02", text, "parameter " + in_quotes(key) + " is given twice");
    }
}

} // namespace

PolicySpec PolicySpec::parse(std::string_view text)
{
    PolicySpec spec;
    const size_t colon = text.find(':');
    spec.name = text.substr(0, colon);
    if (spec.name.empty()) refuse("PAL-POLICY-01", text, "the name is missing");
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
        out += separator + key + "=" + value;
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
