#include "engine/policy/named/parameters.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "engine/policy/named/nearest.h"
#include "kernels/base/error.h"

namespace palimpsest::engine {

namespace {

std::string joined(const std::vector<std::string>& words)
{
    std::string out;
    for (const auto& word : words)
        out += (out.empty() ? "" : ", ") + word;
    return out;
}

[[noreturn]] void refuse_key(const std::string& policy, const std::string& key,
                             const std::vector<std::string>& keys)
{
    const std::string near = nearest(key, keys);
    const std::string hint = near.empty() ? "" : "did you mean '" + near + "'? ";
    throw Error(ErrorKind::Usage, "PAL-POLICY-02", "policy '" + policy + "'",
                "has no parameter '" + printable(key) + "'", hint + "it takes " + joined(keys));
}

} // namespace

std::optional<int32_t> parse_whole(std::string_view text)
{
    const bool digits =
        !text.empty() && std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
    if (!digits) return std::nullopt;
    int32_t value = 0;
    const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (problem != std::errc{}) return std::nullopt;
    return value;
}

std::optional<double> parse_number(std::string_view text)
{
    double value = 0;
    const auto [end, problem] =
        std::from_chars(text.data(), text.data() + text.size(), value, std::chars_format::fixed);
    const bool plain = !text.empty() && text.front() != '-' && end == text.data() + text.size();
    if (problem != std::errc{} || !plain || !std::isfinite(value)) return std::nullopt;
    return value;
}

std::string number_text(double value)
{
    char buffer[64];
    const auto [end, problem] = std::to_chars(buffer, buffer + sizeof buffer, value, std::chars_format::fixed);
    return {buffer, end};
}

PolicyParameters::PolicyParameters(const PolicySpec& given, const PolicyInfo& info)
    : given_(given), resolved_{.name = given.name, .parameters = {}}
{
    std::vector<std::string> keys;
    for (const auto& parameter : info.parameters)
        keys.push_back(parameter.key);
    for (const auto& [key, value] : given.parameters) {
        if (!given.stored && std::find(keys.begin(), keys.end(), key) == keys.end())
            refuse_key(given.name, key, keys);
    }
}

std::string PolicyParameters::text(const std::string& key, const std::string& fallback)
{
    const auto found = given_.parameters.find(key);
    return resolved_.parameters[key] = found == given_.parameters.end() ? fallback : found->second;
}

int32_t PolicyParameters::whole(const std::string& key, int32_t fallback)
{
    const auto value = parse_whole(text(key, std::to_string(fallback)));
    if (!value)
        refuse_value(key, "is not a number of tokens or layers", "give a whole number from 0 to 2147483647");
    resolved_.parameters[key] = std::to_string(*value);
    return *value;
}

int32_t PolicyParameters::positive(const std::string& key, int32_t fallback)
{
    const int32_t value = whole(key, fallback);
    if (value == 0) refuse_value(key, "is not possible", "give 1 or more");
    return value;
}

std::optional<int32_t> PolicyParameters::positive_or_none(const std::string& key)
{
    const std::string given = text(key, "none");
    if (given == "none") return std::nullopt;
    const auto value = parse_whole(given);
    if (!value || *value == 0) {
        refuse_value(key, "is neither 'none' nor a number of at least 1", "give none or a whole number");
    }
    resolved_.parameters[key] = std::to_string(*value);
    return value;
}

bool PolicyParameters::flag(const std::string& key, bool fallback)
{
    const std::string yes = "true", no = "false";
    const std::string given = text(key, fallback ? yes : no);
    if (given != yes && given != no) refuse_choice(key, {no, yes});
    return given == yes;
}

double PolicyParameters::number(const std::string& key, double fallback, double least, double most)
{
    const std::string given = text(key, number_text(fallback));
    const auto value = parse_number(given);
    if (!value || !(*value >= least && *value <= most)) {
        refuse_value(key, "is not a number from " + number_text(least) + " to " + number_text(most),
                     "give one, such as " + number_text(fallback));
    }
    resolved_.parameters[key] = number_text(*value);
    return *value;
}

std::vector<int32_t> PolicyParameters::list(const std::string& key, const std::string& fallback)
{
    const std::string given = text(key, fallback);
    std::vector<int32_t> values;
    for (size_t at = 0; at <= given.size();) {
        const size_t plus = std::min(given.find('+', at), given.size());
        const auto value = parse_whole(std::string_view(given).substr(at, plus - at));
        if (!value || *value == 0 || values.size() == 64)
            refuse_value(key, "is not a list of at most 64 numbers of at least 1", "write it like " + fallback);
        values.push_back(*value);
        at = plus + 1;
    }
    return values;
}

void PolicyParameters::refuse_value(const std::string& key, const std::string& what,
                                    const std::string& remedy) const
{
    throw Error(ErrorKind::Usage, "PAL-POLICY-03", "policy '" + given_.name + "'",
                key + "=" + printable(resolved_.parameters.at(key)) + " " + what, remedy);
}

void PolicyParameters::refuse(const std::string& what, const std::string& remedy) const
{
    throw Error(ErrorKind::Usage, "PAL-POLICY-04", "policy '" + given_.name + "'", what, remedy);
}

void PolicyParameters::refuse_idle(const std::vector<std::string>& keys, const std::string& where)
{
    for (const std::string& key : keys) {
        const auto given = given_.parameters.find(key);
        if (given != given_.parameters.end() && !given_.stored)
            refuse(key + "=" + printable(given->second) + " has no effect " + where, "leave it out");
        resolved_.parameters.erase(key);
    }
}

void PolicyParameters::refuse_choice(const std::string& key, const std::vector<std::string>& names) const
{
    const std::string near = nearest(resolved_.parameters.at(key), names);
    const std::string hint = near.empty() ? "" : "did you mean '" + near + "'? ";
    refuse_value(key, "is not one of its values", hint + "use " + joined(names));
}

} // namespace palimpsest::engine
