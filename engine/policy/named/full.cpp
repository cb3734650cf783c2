#include "engine/policy/named/named_policy.h"

namespace palimpsest::engine {

namespace {

PolicyParts compose(PolicyParameters&, const PolicyContext&)
{
    return {.budget = nullptr};
}

} // namespace

NamedPolicy full_policy()
{
    return {.info = {.name = "full",
                     .keeps = "Every token, as plain attention does; memory grows with the text.",
                     .signals = "none",
                     .cost = "no attention pass beyond plain attention",
                     .positions = "contiguous (equal to original)",
                     .paper = "",
                     .parameters = {}},
            .compose = compose};
}

} // namespace palimpsest::engine
