#include "app/palimpsest/shown_share.h"

#include <cstdio>

namespace palimpsest::app {

std::string percent(double share, int decimals)
{
    char text[32];
    std::snprintf(text, sizeof text, "%.*f %%", decimals, 100 * share);
    return text;
}

std::string shown_share(const engine::Proportion& proportion)
{
    const auto [low, high] = proportion.interval();
    return percent(proportion.share()) + " (" + percent(low) + " to " + percent(high) + ")";
}

std::string setting_name(const PolicyAndBudget& setting, const CommandWording& wording)
{
    return wording.of(Text("{0}  budget {1}", setting.policy, setting.budget.empty() ? "-" : setting.budget));
}

} // namespace palimpsest::app
