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
        refuse.fail(rules.floats, Text("the rope base is {0}, expected a number in [1, {1}]", text(rope.base),
                                       rope_base_limit()));
    for (const auto* factors : {&rope.factors, &rope.long_factors}) {
        if (!factors->empty() && std::ssize(*factors) != rotary_dim / 2)
            refuse.fail(rules.relations,
                        Text("rope scaling has {0} factors, expected {1}", factors->size(), rotary_dim / 2));
        for (const float factor : *factors)
            if (!(factor > 0.0f && factor <= 1e6f))
                refuse.fail(rules.floats, Text("{0} is {1}, expected a number in (0, {2}]",
                                               Text("a rope scaling factor"), text(factor), "1e6"));
    }
    if (!(rope.attention_factor > 0.0f && rope.attention_factor <= 1e3f))
        refuse.fail(rules.floats,
                    Text("{0} is {1}, expected a number in (0, {2}]", Text("the attention factor of rope scaling"),
                         text(rope.attention_factor), "1000"));
}

} // namespace

int32_t checked_size(uint64_t number, uint64_t limit, const Text& name, const Refusal& refuse, ErrorCode rule)
{
    if (number < 1 || number > limit) {
        refuse.fail(rule, Text("{0} is {1}, expected 1 to {2}", name, number, limit), Refusal::other_model());
    }
    return static_cast<int32_t>(number);
}

int32_t checked_context(uint64_t tokens, const Text& name, const Refusal& refuse, ErrorCode rule)
{
    return checked_size(std::min(tokens, limits::context), limits::context, name, refuse, rule);
}

int32_t derived_head_dim(int32_t dim, int32_t heads, const Refusal& refuse, ErrorCode rule)
{
    if (dim % heads != 0) {
        refuse.fail(rule, Text("the embedding of {0} does not divide into {1} heads", dim, heads),
                    Refusal::other_model());
    }
    return checked_size(static_cast<uint64_t>(dim / heads), limits::head_dim, Text("the head size"), refuse, rule);
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
                    Text("{0} layers of {1} experts have more tensors than the {2} of the largest file", c.layers,
                         c.experts.count, limits::tensors),
                    Refusal::other_model());
    if (c.heads % c.kv_heads != 0) {
        refuse.fail(rules.relations,
                    Text("{0} query heads do not divide among {1} key-value heads", c.heads, c.kv_heads),
                    Refusal::other_model());
    }
    if (c.rotary_dim > c.head_dim || c.rotary_dim % 2 != 0) {
        refuse.fail(rules.relations,
                    Text("the rotary size is {0}, expected an even number up to the head size {1}", c.rotary_dim,
                         c.head_dim),
                    Refusal::other_model());
    }
    // Comparisons are written so that NaN fails, here and below.
    if (!(c.rms_epsilon > 0.0f && c.rms_epsilon <= 0.1f))
        refuse.fail(rules.floats, Text("{0} is {1}, expected a number in (0, {2}]", Text("the norm epsilon"),
                                       text(c.rms_epsilon), "0.1"));
    check_rope(c.rope, c.rotary_dim, refuse, rules);
    check_rope(c.local_rope, c.rotary_dim, refuse, rules);
    const auto check_factor = [&](float factor, const Text& name) {
        if (!(factor > 0.0f && factor <= 1e6f))
            refuse.fail(rules.floats, Text("{0} is {1}, expected a number in (0, {2}]", name, text(factor), "1e6"));
    };
    check_factor(c.embedding_factor, Text("the factor of the embedding"));
    check_factor(c.residual_factor, Text("the factor of the residuals"));
    check_factor(c.scale(), Text("the scale of attention"));
    check_factor(c.logit_factor, Text("the factor of the logits"));
    const auto check_cap = [&](float cap, const Text& name) {
        if (!(cap >= 0.0f && cap <= 1e6f))
            refuse.fail(rules.floats, Text("{0} is {1}, expected a number in (0, {2}]", name, text(cap), "1e6"));
    };
    check_cap(c.attention_soft_cap, Text("the soft cap of attention"));
    check_cap(c.logit_soft_cap, Text("the soft cap of the logits"));
}

} // namespace palimpsest::engine
