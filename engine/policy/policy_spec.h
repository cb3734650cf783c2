// A policy as the user writes it: NAME or NAME:key=value,key=value (policies.md, 7).
#pragma once

#include <map>
#include <string>
#include <string_view>

namespace palimpsest::engine {

struct PolicySpec {
    std::string name;
    std::map<std::string, std::string> parameters;
    // From a snapshot: keys that its policy no longer takes, or that have no effect, are passed over, not refused.
    bool stored = false;

    // Throws Error (Usage) for a malformed text; names are checked by make_policy.
    static PolicySpec parse(std::string_view text);
    std::string text() const; // parses back to an equal spec
    bool operator==(const PolicySpec& other) const { return name == other.name && parameters == other.parameters; }
};

// A policy as it was asked for, with what it began with where that is no default any more: `resolved` may be that of a
// session from before norms were those of query heads.
PolicySpec as_begun(PolicySpec given, const PolicySpec& resolved);

} // namespace palimpsest::engine
