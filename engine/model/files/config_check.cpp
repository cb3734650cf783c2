#include "engine/model/files/config_check.h"

#include <algorithm>
#include <cstdio>

#include "engine/model/config/limits.h"

namespace palimpsest::engine {
namespace {

std::string text(float value)
{
    char buffer[32];
    std::snprintf(buffer, sizeof buffer, "%g", static_cast<double>(value));
    return buffer;
}

void check_rope(const RopePlan& rope, int32_t rotary_dim, const Refusal& refuse, const ConfigRules& rules)
{
    if (!is_rope_base(static_cast<double>(rope.base)))
        refuse.fail(rules.floats, "the rope base is " + text(rope.base) + ", expected a number in [1, " +
                                      rope_base_limit() + "]");
    for (const auto* factors : {&rope.factors, &rope.long_factors}) {
        if (!factors->empty() && std::ssize(*factors) != rotary_dim / 2)
            refuse.fail(rules.relations, "rope scaling has " + std::to_string(factors->size()) +
                                             " factors, expected " + std::to_string(rotary_dim / 2));
        for (const float factor : *factors)
            if (!(factor > 0.0f && factor <= 1e6f))
                refuse.fail(rules.floats,
                            "a rope scaling factor is " + text(factor) + ", expected a number in (0, 1e6]");
    }
    if (!(rope.attention_factor > 0.0f && rope.attention_factor <= 1e3f))
        refuse.fail(rules.floats, "the attention factor of rope scaling is " + text(rope.attention_factor) +
                                      ", expected a number in (0, 1000]");
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

bool is_rope_base(double base)
{
    return base >= 1.0 && base <= limits::rope_base;
}

std::string rope_base_limit()
{
    return text(static_cast<float>(limits::rope_base));
}

void check_config(const ModelConfig& c, const Refusal& refuse, const ConfigRules& rules)
{
    // Bounds the number of required tensors before the list of them is built.
    const uint64_t matrices =
        uint64_t{3} * static_cast<uint64_t>(c.layers) * static_cast<uint64_t>(c.experts.count);
    if (matrices > limits::tensors)
        refuse.fail(rules.relations,
                    std::to_string(c.layers) + " layers of " + std::to_string(c.experts.count) +
                        " experts have more tensors than the " + std::to_string(limits::tensors) +
                        " of the largest file",
                    Refusal::other_model);
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
    // Comparisons are written so that NaN fails, here and below.
    if (!(c.rms_epsilon > 0.0f && c.rms_epsilon <= 0.1f))
        refuse.fail(rules.floats, "the norm epsilon is " + text(c.rms_epsilon) + ", expected a number in (0, 0.1]");
    check_rope(c.rope, c.rotary_dim, refuse, rules);
    check_rope(c.local_rope, c.rotary_dim, refuse, rules);
    const auto check_factor = [&](float factor, const char* name) {
        if (!(factor > 0.0f && factor <= 1e6f))
            refuse.fail(rules.floats,
                        std::string(name) + " is " + text(factor) + ", expected a number in (0, 1e6]");
    };
    check_factor(c.embedding_factor, "the factor of the embedding");
    check_factor(c.residual_factor, "the factor of the residuals");
    check_factor(c.scale(), "the scale of attention");
    check_factor(c.logit_factor, "the factor of the logits");
    const auto check_cap = [&](float cap, const char* name) {
        if (!(cap >= 0.0f && cap <= 1e6f))
            refuse.fail(rules.floats, std::string(name) + " is " + text(cap) + ", expected a number in (0, 1e6]");
    };
    check_cap(c.attention_soft_cap, "the soft cap of attention");
    check_cap(c.logit_soft_cap, "the soft cap of the logits");
}

} // namespace palimpsest::engine
