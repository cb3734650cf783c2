// The key=value pairs of one policy: reads them with defaults, checks them and records the resolved values.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/policy/named/policy_info.h"
#include "engine/policy/policy_spec.h"

namespace palimpsest::engine {

// Parses a whole number from 0 to 2^31 - 1 in plain digits; nullopt for anything else.
std::optional<int32_t> parse_whole(std::string_view text);

// Parses a finite decimal number >= 0 without exponent; nullopt for anything else. number_text gives the shortest
// text that parses back to the value.
std::optional<double> parse_number(std::string_view text);
std::string number_text(double value); // REQUIRES: 0 <= value < 1e15

// The possible values of a key, by name.
template<typename T>
using Choices = std::vector<std::pair<std::string, T>>;

// The names, for ParameterInfo::choices.
template<typename T>
std::vector<std::string> names_of(const Choices<T>& choices)
{
    std::vector<std::string> names;
    for (const auto& [name, value] : choices)
        names.push_back(name);
    return names;
}

// The description of a key whose values are names. If `default_name` is empty, the first choice is the default.
ParameterInfo choice_info(const std::string& key, Text meaning, const std::vector<std::string>& choices,
                          const std::string& default_name = {});
ParameterInfo flag_info(const std::string& key, Text meaning); // a key that is true or false; false by default

// Ranges of numbers, which may be formulas: "0 to budget - sinks".
Text range_of(std::string_view least, std::string_view most);
Text at_least(int32_t least);

// Every reader records the value in resolved(). All throw Error (Usage): InvalidPolicyParameter for a bad value,
// ImpossiblePolicy for values that do not fit together.
class PolicyParameters {
public:
    // Throws UnknownPolicyParameter for a key that `info` does not list, unless the spec is from a snapshot.
    PolicyParameters(const PolicySpec& given, const PolicyInfo& info);

    std::string text(const std::string& key, const std::string& fallback);
    int32_t whole(const std::string& key, int32_t fallback);
    int32_t seed(const std::string& key, int32_t fallback);     // like whole
    int32_t positive(const std::string& key, int32_t fallback); // at least 1
    // nullopt for "none", the default; otherwise a number of at least 1.
    std::optional<int32_t> positive_or_none(const std::string& key);
    bool flag(const std::string& key, bool fallback);
    // A decimal number in [least, most].
    double number(const std::string& key, double fallback, double least, double most);
    // Numbers of at least 1 with plus signs between them: 1+8.
    std::vector<int32_t> list(const std::string& key, const std::string& fallback);
    // The first choice is the default.
    template<typename T>
    T choice(const std::string& key, const Choices<T>& choices);

    // "KEY=VALUE" as it was read, to be named in refuse_value.
    std::string pair(const std::string& key) const;
    [[noreturn]] void refuse_value(Text what, Text remedy) const;
    [[noreturn]] void refuse(Text what, Text remedy) const;
    // True if the spec is from a snapshot made before the key existed, whose state may lack what the key needs.
    bool predates(const std::string& key) const { return given_.stored && !given_.parameters.contains(key); }
    // Refuse keys that are given and have no effect with (without) a setting such as "rule=left". resolved() leaves
    // them out.
    void refuse_idle_with(const std::vector<std::string>& keys, const std::string& setting);
    void refuse_idle_without(const std::vector<std::string>& keys, const std::string& setting);

    const PolicySpec& resolved() const { return resolved_; }

private:
    [[noreturn]] void refuse_choice(const std::string& key, const std::vector<std::string>& names) const;
    std::optional<int32_t> read_whole(const std::string& key, int32_t fallback); // nullopt: it is none
    [[noreturn]] void refuse_whole(const Text& what) const;
    // Leaves the keys out of resolved(), and calls `refuse` with the first one that is given.
    template<typename Refuse>
    void leave_out(const std::vector<std::string>& keys, const Refuse& refuse);

    PolicySpec given_;
    PolicySpec resolved_;
};

template<typename T>
T PolicyParameters::choice(const std::string& key, const Choices<T>& choices)
{
    const std::string chosen = text(key, choices.front().first);
    std::vector<std::string> names;
    for (const auto& [name, value] : choices) {
        if (name == chosen) return value;
        names.push_back(name);
    }
    refuse_choice(key, names);
}

} // namespace palimpsest::engine
