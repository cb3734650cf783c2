// The definition of one named policy: its description, and a function that composes its parts.
#pragma once

#include "engine/policy/named/composed_policy.h"
#include "engine/policy/named/parameters.h"
#include "engine/policy/named/policy_info.h"

namespace palimpsest::engine {

// PolicyInfo::positions of the policies whose papers keep original positions.
inline constexpr const char* original_within_context =
    "original where the whole input is known and fits the model's context (eval, compare); otherwise contiguous";

struct NamedPolicy {
    PolicyInfo info; // without `schedule`, which the registry adds to every policy
    // Reads the parameters and composes the policy. Throws Error (Usage).
    PolicyParts (*compose)(PolicyParameters& parameters, const PolicyContext& context);
};

NamedPolicy full_policy();
NamedPolicy streaming_policy();
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
NamedPolicy quest_policy();
NamedPolicy twilight_policy();
NamedPolicy twilight_evict_policy();

} // namespace palimpsest::engine
