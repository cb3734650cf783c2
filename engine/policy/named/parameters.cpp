#include "engine/policy/named/parameters.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "engine/policy/named/nearest.h"
#include "kernels/base/error.h"
#include "kernels/base/printable.h"

namespace palimpsest::engine {

namespace {

std::string listed(const std::vector<std::string>& words)
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
    throw Error(ErrorKind::Usage, ErrorCode::UnknownPolicyParameter, Text("policy '{0}'", policy),
                Text("has no parameter '{0}'", printable(key)),
                near.empty() ? Text("it takes {0}", listed(keys))
                             : Text("did you mean '{0}'? it takes {1}", near, listed(keys)));
}

} // namespace

ParameterInfo choice_info(const std::string& key, Text meaning, const std::vector<std::string>& choices,
                          const std::string& default_name)
{
    return {.key = key,
            .meaning = std::move(meaning),
            .default_text = Text::verbatim(default_name.empty() ? choices.front() : default_name),
            .range = Text::verbatim(listed(choices)),
            .choices = choices};
}

ParameterInfo flag_info(const std::string& key, Text meaning)
{
    return choice_info(key, std::move(meaning), {"true", "false"}, "false");
}

Text range_of(std::string_view least, std::string_view most)
{
    return Text("{0} to {1}", least, most);
}

Text at_least(int32_t least)
{
    return Text("{0} or more", least);
}

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

std::optional<int32_t> PolicyParameters::read_whole(const std::string& key, int32_t fallback)
{
    const auto value = parse_whole(text(key, std::to_string(fallback)));
    if (value) resolved_.parameters[key] = std::to_string(*value);
    return value;
}

void PolicyParameters::refuse_whole(const Text& what) const
{
    refuse_value(what, Text("give a whole number from {0} to {1}", 0, INT32_MAX));
}

int32_t PolicyParameters::whole(const std::string& key, int32_t fallback)
{
    const auto value = read_whole(key, fallback);
    if (!value) refuse_whole(Text("{0} is not a number of tokens or layers", pair(key)));
    return *value;
}

int32_t PolicyParameters::seed(const std::string& key, int32_t fallback)
{
    const auto value = read_whole(key, fallback);
    if (!value) refuse_whole(Text("{0} is not a seed", pair(key)));
    return *value;
}

int32_t PolicyParameters::positive(const std::string& key, int32_t fallback)
{
    const int32_t value = whole(key, fallback);
    if (value == 0) refuse_value(Text("{0} is not possible", pair(key)), Text("give {0} or more", 1));
    return value;
}

std::optional<int32_t> PolicyParameters::positive_or_none(const std::string& key)
{
    const std::string given = text(key, "none");
    if (given == "none") return std::nullopt;
    const auto value = parse_whole(given);
    if (!value || *value == 0) {
        refuse_value(Text("{0} is neither 'none' nor a number of at least {1}", pair(key), 1),
                     Text("give none or a whole number"));
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
        refuse_value(Text("{0} is not a number from {1} to {2}", pair(key), number_text(least), number_text(most)),
                     Text("give one, such as {0}", number_text(fallback)));
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
            refuse_value(Text("{0} is not a list of at most {1} numbers of at least {2}", pair(key), 64, 1),
                         Text("write it like {0}", fallback));
        values.push_back(*value);
        at = plus + 1;
    }
    return values;
}

std::string PolicyParameters::pair(const std::string& key) const
{
    return key + "=" + printable(resolved_.parameters.at(key));
}

void PolicyParameters::refuse_value(Text what, Text remedy) const
{
    throw Error(ErrorKind::Usage, ErrorCode::InvalidPolicyParameter, Text("policy '{0}'", given_.name),
                std::move(what), std::move(remedy));
}

void PolicyParameters::refuse(Text what, Text remedy) const
{
    throw Error(ErrorKind::Usage, ErrorCode::ImpossiblePolicy, Text("policy '{0}'", given_.name), std::move(what),
                std::move(remedy));
}

template<typename Refuse>
void PolicyParameters::leave_out(const std::vector<std::string>& keys, const Refuse& refuse)
{
    for (const std::string& key : keys) {
        const auto given = given_.parameters.find(key);
        if (given != given_.parameters.end() && !given_.stored) refuse(key + "=" + printable(given->second));
        resolved_.parameters.erase(key);
    }
}

void PolicyParameters::refuse_idle_with(const std::vector<std::string>& keys, const std::string& setting)
{
    leave_out(keys, [&](const std::string& pair) {
        refuse(Text("{0} has no effect with {1}", pair, setting), Text("leave it out"));
    });
}

void PolicyParameters::refuse_idle_without(const std::vector<std::string>& keys, const std::string& setting)
{
    leave_out(keys, [&](const std::string& pair) {
        refuse(Text("{0} has no effect without {1}", pair, setting), Text("leave it out"));
    });
}

void PolicyParameters::refuse_choice(const std::string& key, const std::vector<std::string>& names) const
{
    const std::string near = nearest(resolved_.parameters.at(key), names);
    refuse_value(Text("{0} is not one of its values", pair(key)),
                 near.empty() ? Text("use {0}", listed(names))
                              : Text("did you mean '{0}'? use {1}", near, listed(names)));
}

} // namespace palimpsest::engine
