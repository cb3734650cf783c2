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
                     .keeps = Text("Keeps every token, as full attention does; memory grows with the text."),
                     .signals = Text("none"),
                     .cost = Text("nothing beyond the model's own attention"),
                     .positions = Text("contiguous, which are the original ones because nothing is evicted"),
                     .paper = {},
                     .parameters = {}},
            .compose = compose};
}

} // namespace palimpsest::engine
