// The policies and budgets that a measurement runs through.
#pragma once

#include <string>
#include <vector>

#include "app/palimpsest/common_options.h"

namespace palimpsest::app {

struct PolicyAndBudget {
    std::string policy, budget; // as given
    // The command's options with these.
    CommonOptions options(const CommonOptions& common) const;
};

class PolicyGrid {
public:
    // Adds --policies and --budgets to a command. This must outlive it.
    void add_options(CLI::App& command);
    // Every policy with every budget, in this order; --policy and --budget where no lists are given. `full`, with
    // which the others are compared, keeps everything: it is there once, without a budget.
    std::vector<PolicyAndBudget> all(const CommonOptions& common) const;

private:
    std::string policies_, budgets_;
};

} // namespace palimpsest::app
