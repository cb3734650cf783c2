// The description of a policy and of its parameters.
#pragma once

#include <string>
#include <vector>

namespace palimpsest::engine {

struct ParameterInfo {
    std::string key;
    std::string meaning;
    std::string default_text; // "c/2 - sinks"
    std::string range;
};

struct PolicyInfo {
    std::string name;
    std::string keeps;     // one sentence: what it keeps
    std::string signals;   // "none", "attention of all queries"
    std::string cost;      // "no attention pass beyond plain attention"
    std::string positions; // default
    std::string paper;
    std::vector<ParameterInfo> parameters;
};

} // namespace palimpsest::engine
