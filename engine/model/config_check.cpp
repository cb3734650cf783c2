#include "engine/model/config_check.h"

#include <algorithm>
#include <cstdio>

#include "engine/model/limits.h"

namespace palimpsest::engine {
namespace {

std::string text(float value)
{
    char buffer[32];
    std::snprintf(buffer, sizeof buffer, "%g", static_cast<double>(value));
    return buffer;
}

} // namespace

int32_t checked_size(uint64_t number, uint64_t limit, const std::string& name, const Refusal& refuse,
                     std::string_view rule)
{
    if (number < 1 || number > limit) {
        refuse.fail(rule,
                    in_quotes(name) + " is " + std::to_string(number) + ", expected 1 to " + std::to_string(limit),
                    Refusal::other_model);
    }
    return static_cast<int32_t>(number);
}

int32_t checked_context(uint64_t tokens, const std::string& name, const Refusal& refuse, std::string_view rule)
{
    return checked_size(std::min(tokens, limits::context), limits::context, name, refuse, rule);
}

int32_t derived_head_dim(int32_t dim, int32_t heads, const Refusal& refuse, std::string_view rule)
{
    if (dim % heads != 0) {
        refuse.fail(rule,
                    "the embedding of " + std::to_string(dim) + " does not divide into " + std::to_string(heads) +
                        " heads",
                    Refusal::other_model);
    }
    return checked_size(static_cast<uint64_t>(dim / heads), limits::head_dim, "head size", refuse, rule);
}

void check_config(const ModelConfig& c, const Refusal& refuse, const ConfigRules& rules)
{
    if (c.heads % c.kv_heads != 0) {
        refuse.fail(rules.relations,
                    std::to_string(c.heads) + " query heads do not divide among " + std::to_string(c.kv_heads) +
                        " key-value heads",
                    Refusal::other_model);
    }
    if (c.rotary_dim > c.head_dim || c.rotary_dim % 2 != 0) {
        refuse.fail(rules.relations,
                    "the rotary size is " + std::to_string(c.rotary_dim) +
                        ", expected an even number up to the head size " + std::to_string(c.head_dim),
                    Refusal::other_model);
    }
    // Written so that NaN fails.
    if (!(c.rms_epsilon > 0.0f && c.rms_epsilon <= 0.1f))
        refuse.fail(rules.floats, "the norm epsilon is " + text(c.rms_epsilon) + ", expected a number in (0, 0.1]");
    if (!(c.rope_base >= 1.0f && c.rope_base <= 1e9f))
        refuse.fail(rules.floats, "the rope base is " + text(c.rope_base) + ", expected a number in [1, 1e9]");
    for (const float factor : c.rope_factors) {
        if (!(factor > 0.0f && factor <= 1e6f))
            refuse.fail(rules.floats,
                        "a rope scaling factor is " + text(factor) + ", expected a number in (0, 1e6]");
    }
}

} // namespace palimpsest::engine
