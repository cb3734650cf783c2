// All policies by name, with the descriptions that `policies list` and `policies show` print.
#pragma once

#include <string>
#include <string_view>
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

const std::vector<PolicyInfo>& policies();
const PolicyInfo* find_policy(std::string_view name);

// The candidate nearest to `word` by edit distance, for "did you mean"; empty if none is near.
std::string nearest(std::string_view word, const std::vector<std::string>& candidates);

} // namespace palimpsest::engine
