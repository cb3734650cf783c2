// A policy as the user writes it: NAME or NAME:key=value,key=value.
#pragma once

#include <map>
#include <string>
#include <string_view>

namespace palimpsest::engine {

struct PolicySpec {
    std::string name;
    std::map<std::string, std::string> parameters;
    // True for a spec from a snapshot: unknown keys and keys without effect are ignored, not refused.
    bool stored = false;

    // Throws Error (Usage) for malformed text; make_policy checks the names.
    static PolicySpec parse(std::string_view text);
    std::string text() const; // parses back to an equal spec
    bool operator==(const PolicySpec& other) const { return name == other.name && parameters == other.parameters; }
};

// Returns `given` with the resolved values of parameters whose defaults have changed between versions (norm,
// mask_sinks, refreekv's floor), so that an old session keeps the defaults it started with.
PolicySpec with_original_defaults(PolicySpec given, const PolicySpec& resolved);

} // namespace palimpsest::engine
