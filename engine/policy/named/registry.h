// All policies by name, with the descriptions that `policies list` and `policies show` print.
#pragma once

#include <string_view>
#include <vector>

#include "engine/policy/named/policy_info.h"

namespace palimpsest::engine {

const std::vector<PolicyInfo>& policies();
const PolicyInfo* find_policy(std::string_view name);

} // namespace palimpsest::engine
