#include "app/palimpsest/policy_grid.h"

#include <CLI/CLI.hpp>
#include <algorithm>

#include "engine/policy/policy_spec.h"

namespace palimpsest::app {

CommonOptions PolicyAndBudget::options(const CommonOptions& common) const
{
    CommonOptions options = common;
    options.policy = policy;
    options.budget = budget;
    return options;
}

void PolicyGrid::add_options(CLI::App& command)
{
    command.add_option("--policies", policies_, "specs, separated by commas, instead of --policy");
    command.add_option("--budgets", budgets_, "budgets, separated by commas, instead of --budget");
}

std::vector<PolicyAndBudget> PolicyGrid::all(const CommonOptions& common) const
{
    const std::vector<std::string> without_budget = {"none"};
    const auto policies = policies_.empty() ? std::vector{common.policy} : split_policies(policies_);
    const auto budgets = budgets_.empty() ? std::vector{common.budget} : split_list(budgets_);
    std::vector<PolicyAndBudget> all;
    for (const std::string& policy : policies) {
        const bool keeps_everything = engine::PolicySpec::parse(policy).name == "full";
        for (const std::string& budget : keeps_everything ? without_budget : budgets)
            if (std::ranges::none_of(all, [&](const PolicyAndBudget& known) {
                    return known.policy == policy && known.budget == budget;
                }))
                all.push_back({policy, budget});
    }
    return all;
}

} // namespace palimpsest::app
