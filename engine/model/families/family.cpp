#include "engine/model/families/family.h"

#include <algorithm>

#include "engine/model/config/limits.h"

namespace palimpsest::engine {
namespace {

// GGUF files get the first family with their architecture: Mistral and Mixtral load as Llama.
const std::vector<const Family*>& families()
{
    static const std::vector<const Family*> all = {&llama_family(),  &mistral_family(), &mixtral_family(),
                                                   &qwen2_family(),  &qwen3_family(),   &qwen3moe_family(),
                                                   &gemma2_family(), &gemma3_family(),  &phi3_family(),
                                                   &olmo2_family(),  &granite_family()};
    return all;
}

// REQUIRES: at least two names.
Text alternatives(const std::vector<std::string_view>& names)
{
    std::string all_but_last;
    for (size_t i = 0; i + 1 < names.size(); ++i)
        all_but_last += (i > 0 ? ", " : "") + std::string(names[i]);
    return Text("{0} or {1}", all_but_last, names.back());
}

std::string text(double value)
{
    std::string digits = std::to_string(value);
    digits.erase(digits.find_last_not_of('0') + 1);
    if (digits.ends_with('.')) digits.pop_back();
    return digits;
}

} // namespace

const Family* family_of_architecture(std::string_view architecture)
{
    const auto found = std::ranges::find(families(), architecture, &Family::architecture);
    return found == families().end() ? nullptr : *found;
}

const Family* family_of_class(std::string_view name)
{
    const auto found = std::ranges::find_if(families(), [&](const Family* family) {
        return std::ranges::find(family->classes, name) != family->classes.end();
    });
    return found == families().end() ? nullptr : *found;
}

Text known_architectures()
{
    std::vector<std::string_view> names;
    for (const Family* family : families())
        if (std::ranges::find(names, family->architecture) == names.end()) names.push_back(family->architecture);
    return alternatives(names);
}

Text known_classes()
{
    std::vector<std::string_view> names;
    for (const Family* family : families())
        names.insert(names.end(), family->classes.begin(), family->classes.end());
    return alternatives(names);
}

std::optional<double> Family::default_of(std::string_view key) const
{
    const auto found = std::ranges::find(defaults, key, &std::pair<std::string_view, double>::first);
    return found == defaults.end() ? std::nullopt : std::optional(found->second);
}

void read_windows(const ConfigFields& fields, ModelConfig& config, int32_t period, bool local_rope,
                  uint64_t gguf_window)
{
    constexpr ConfigKey key = {"attention.sliding_window", "sliding_window"};
    auto window = fields.integer(key);
    if (window && *window == 0 && !fields.is_gguf())
        fields.refuse_value(Text("{0} is 0, expected 1 or more, or null", fields.name(key)));
    if (fields.is_gguf()) {
        window = window.value_or(gguf_window);
        if (*window == 0) return;
    }
    const bool hides = window && *window > 0 && *window < static_cast<uint64_t>(config.context);
    if (!hides && !local_rope) return;
    const auto listed = fields.listed_windows(config.layers);
    config.plans.assign(static_cast<size_t>(config.layers), {});
    for (int32_t l = 0; l < config.layers; ++l) {
        const auto at = static_cast<size_t>(l);
        const bool local = listed ? (*listed)[at] : period == 0 || (l + 1) % period != 0;
        if (!local) continue;
        config.plans[at].window = hides ? static_cast<int32_t>(*window) : 0;
        config.plans[at].local_rope = local_rope;
    }
}

float positive(const ConfigFields& fields, ConfigKey key, double otherwise, double largest)
{
    const double value = fields.number(key).value_or(otherwise);
    // Written so that NaN fails.
    if (!(value > 0.0 && value <= largest))
        fields.refuse_value(
            Text("{0} is {1}, expected a number in (0, {2}]", fields.name(key), text(value), text(largest)));
    return static_cast<float>(value);
}

void read_experts(const ConfigFields& fields, ModelConfig& config, ConfigKey count, ConfigKey used)
{
    const uint64_t experts = fields.integer(count).value_or(0);
    if (experts == 0) return;
    if (experts > limits::experts)
        fields.refuse_value(Text("{0} is {1}, expected 1 to {2}", fields.name(count), experts, limits::experts));
    const uint64_t chosen = fields.integer(used).value_or(0);
    if (chosen < 1 || chosen > experts)
        fields.refuse_value(
            Text("{0} is {1}, expected 1 to {2}, the number of experts", fields.name(used), chosen, experts));
    config.experts.count = static_cast<int32_t>(experts);
    config.experts.used = static_cast<int32_t>(chosen);
}

} // namespace palimpsest::engine
