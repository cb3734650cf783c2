// A policy as the user writes it: NAME or NAME:key=value,key=value (policies.md, 7).
#pragma once

#include <map>
#include <string>
#include <string_view>

namespace palimpsest::engine {

struct PolicySpec {
    std::string name;
    std::map<std::string, std::string> parameters;

    // Throws Error (Usage) for a malformed text; names are checked by make_policy.
    static PolicySpec parse(std::string_view text);
    std::string text() const; // parses back to an equal spec
    bool operator==(const PolicySpec&) const = default;
};

} // namespace palimpsest::engine
