#include "engine/policy/named/registry.h"

#include <algorithm>
#include <array>

#include "engine/policy/named/named_policy.h"
#include "engine/policy/named/nearest.h"
#include "kernels/base/error.h"
#include "kernels/base/printable.h"

namespace palimpsest::engine {

namespace {

constexpr int32_t budget_limit = 1 << 30;

const std::vector<NamedPolicy>& named_policies()
{
    static const std::vector<NamedPolicy> all = [] {
        std::vector<NamedPolicy> named = {
            full_policy(),         streaming_policy(),     random_policy(),       h2o_policy(),
            scissorhands_policy(), tova_policy(),          snapkv_policy(),       pyramidkv_policy(),
            treekv_policy(),       treekv_log_policy(),    treekv_block_policy(), lacache_policy(),
            hbw_kv_policy(),       refreekv_policy(),      cake_policy(),         adakv_policy(),
            chunkkv_policy(),      knorm_policy(),         keydiff_policy(),      quest_policy(),
            twilight_policy(),     twilight_evict_policy()};
        for (auto& policy : named)
            policy.info.parameters.push_back(schedule_info());
        return named;
    }();
    return all;
}

[[noreturn]] void refuse_name(const std::string& name)
{
    std::vector<std::string> names;
    std::string list;
    for (const auto& info : policies()) {
        names.push_back(info.name);
        list += (list.empty() ? "" : ", ") + info.name;
    }
    const std::string near = nearest(name, names);
    throw Error(ErrorKind::Usage, ErrorCode::UnknownPolicy, Text("policy '{0}'", printable(name)),
                Text("no policy has this name"),
                near.empty() ? Text("use one of {0}", list)
                             : Text("did you mean '{0}'? use one of {1}", near, list));
}

const NamedPolicy& find_named(const std::string& name)
{
    for (const auto& policy : named_policies()) {
        if (policy.info.name == name) return policy;
    }
    refuse_name(name);
}

[[noreturn]] void refuse_pins(Text what)
{
    throw Error(ErrorKind::Usage, ErrorCode::PinsExceedBudget, Text("pins"), std::move(what),
                Text("pin less or raise the budget"));
}

PolicyParts compose_beside_pins(const NamedPolicy& named, PolicyParameters& parameters,
                                const PolicyContext& context)
{
    if (context.pins.empty()) return named.compose(parameters, context);
    if (context.pins.tokens() >= static_cast<uint64_t>(context.budget))
        refuse_pins(Text("{0} pinned tokens do not fit a budget of {1}", context.pins.tokens(), context.budget));
    PolicyContext rest = context;
    if (context.budget != no_budget) rest.budget -= static_cast<int32_t>(context.pins.tokens());
    try {
        return named.compose(parameters, rest);
    } catch (const Error& error) {
        if (error.code() != ErrorCode::ImpossiblePolicy) throw;
        named.compose(parameters,
                      context); // throws if even the whole budget is too small: the pins are not the cause
        refuse_pins(Text("{0} pinned tokens do not fit a budget of {1}: {2}", context.pins.tokens(), context.budget,
                         error.text()));
    }
}

// Refuses a budget that depends on signals for a policy that reads none.
void check_scores(const PolicyParameters& parameters, const PolicyParts& parts)
{
    if (!parts.budget || !parts.budget->needs_signals()) return;
    if (parts.signal.kind == ScoreKind::None)
        parameters.refuse(Text("budgets that follow attention need scores, and it reads none with these settings"),
                          Text("leave budget, allocation and heads out, or choose other settings"));
}

} // namespace

const std::vector<PolicyInfo>& policies()
{
    static const std::vector<PolicyInfo> infos = [] {
        std::vector<PolicyInfo> all;
        for (const auto& policy : named_policies())
            all.push_back(policy.info);
        return all;
    }();
    return infos;
}

const PolicyInfo* find_policy(std::string_view name)
{
    const auto& all = policies();
    const auto found =
        std::find_if(all.begin(), all.end(), [&](const PolicyInfo& info) { return info.name == name; });
    return found == all.end() ? nullptr : &*found;
}

std::unique_ptr<Policy> make_policy(const PolicySpec& spec, const PolicyContext& context)
{
    const NamedPolicy& named = find_named(spec.name);
    PolicyParameters parameters(spec, named.info);
    if (context.budget < 1 || (context.budget > budget_limit && context.budget != no_budget)) {
        parameters.refuse(Text("a budget of {0} tokens is not possible", context.budget),
                          Text("give a budget from {0} to {1}", 1, budget_limit));
    }
    PolicyParts parts = compose_beside_pins(named, parameters, context);
    check_scores(parameters, parts);
    const EvictionSchedule schedule = read_schedule(parameters);
    return std::make_unique<ComposedPolicy>(std::move(parts), schedule, parameters.resolved(), context);
}

} // namespace palimpsest::engine
