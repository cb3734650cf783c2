// What a file of one named policy provides: its description and how its parts are chosen.
#pragma once

#include "engine/policy/composed_policy.h"
#include "engine/policy/parameters.h"
#include "engine/policy/registry.h"

namespace palimpsest::engine {

struct NamedPolicy {
    PolicyInfo info; // without `schedule`, which the registry adds to every policy
    // Reads the parameters and picks a value of each axis. Throws Error (Usage).
    PolicyParts (*compose)(PolicyParameters& parameters, const PolicyContext& context);
};

NamedPolicy full_policy();
NamedPolicy streaming_policy();
NamedPolicy treekv_policy();
NamedPolicy treekv_log_policy();
NamedPolicy lacache_policy();

} // namespace palimpsest::engine
