// The definition of one named policy: its description, and a function that composes its parts.
#pragma once

#include "engine/policy/named/composed_policy.h"
#include "engine/policy/named/parameters.h"
#include "engine/policy/named/policy_info.h"

namespace palimpsest::engine {

// Texts of PolicyInfo::positions and ::cost that several policies share.

// For policies whose papers use original positions.
inline Text original_within_context()
{
    return Text(
        "original if the whole input is known beforehand and fits the model's context, otherwise contiguous");
}

inline Text cost_of_window()
{
    return Text("an attention pass over the last `window` queries of each chunk");
}

struct NamedPolicy {
    PolicyInfo info; // without `schedule`, which the registry adds to every policy
    // Reads the parameters and composes the policy. Throws Error (Usage).
    PolicyParts (*compose)(PolicyParameters& parameters, const PolicyContext& context);
};

NamedPolicy full_policy();
NamedPolicy streaming_policy();
NamedPolicy random_policy();
NamedPolicy h2o_policy();
NamedPolicy scissorhands_policy();
NamedPolicy tova_policy();
NamedPolicy snapkv_policy();
NamedPolicy pyramidkv_policy();
NamedPolicy treekv_policy();
NamedPolicy treekv_log_policy();
NamedPolicy treekv_block_policy();
NamedPolicy lacache_policy();
NamedPolicy hbw_kv_policy();
NamedPolicy refreekv_policy();
NamedPolicy cake_policy();
NamedPolicy adakv_policy();
NamedPolicy chunkkv_policy();
NamedPolicy knorm_policy();
NamedPolicy keydiff_policy();
NamedPolicy quest_policy();
NamedPolicy twilight_policy();
NamedPolicy twilight_evict_policy();

} // namespace palimpsest::engine
