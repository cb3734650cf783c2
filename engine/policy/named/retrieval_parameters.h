// The parameters of retrieval policies (docs/policies-spec.md, quest and twilight).
#pragma once

#include <vector>

#include "engine/policy/named/parameters.h"
#include "engine/policy/policy.h"

namespace palimpsest::engine {

inline constexpr const char* twilight_title = "Twilight (arXiv 2502.02770)";
std::vector<ParameterInfo> retrieval_infos();
ParameterInfo mass_info();

// All throw Error (Usage).
Retrieval read_retrieval(PolicyParameters& parameters, const PolicyContext& context);
double read_mass(PolicyParameters& parameters); // p in (0, 1]

} // namespace palimpsest::engine
