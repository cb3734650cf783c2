// Shares and settings of measurements, as the command prints them.
#pragma once

#include <string>

#include "app/palimpsest/policy_grid.h"
#include "app/palimpsest/wording.h"
#include "engine/eval/proportion.h"

namespace palimpsest::app {

std::string percent(double share, int decimals = 0);           // "42 %"
std::string shown_share(const engine::Proportion& proportion); // "42 % (31 % to 54 %)", with its interval
std::string setting_name(const PolicyAndBudget& setting, const CommandWording& wording);

} // namespace palimpsest::app
