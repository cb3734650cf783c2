// The description of a policy and of its parameters.
#pragma once

#include <string>
#include <vector>

#include "kernels/base/text.h"

namespace palimpsest::engine {

struct ParameterInfo {
    std::string key;
    Text meaning;
    Text default_text; // "budget/2 - sinks"
    Text range;
    std::vector<std::string> choices{}; // the values it takes, if these are names; empty: see `range`
};

struct PolicyInfo {
    std::string name;
    Text keeps;                    // one sentence: what it keeps
    Text signals;                  // "none", "attention of all queries"
    Text cost;                     // "nothing beyond the model's own attention"
    Text positions;                // which positions it uses unless others are asked for
    bool prefers_original = false; // uses original positions where the whole input is known and fits the context
    Text paper;
    std::vector<ParameterInfo> parameters;
};

} // namespace palimpsest::engine
