#include "engine/policy/named/retrieval_parameters.h"

#include "engine/policy/named/budget_parameters.h"

namespace palimpsest::engine {

std::vector<ParameterInfo> retrieval_infos()
{
    return {{.key = "page", .meaning = "tokens of a page", .default_text = "16", .range = "1 to 65536"},
            {.key = "skip_layers",
             .meaning = "lowest layers that read everything",
             .default_text = "2",
             .range = "0 and more"}};
}

ParameterInfo mass_info()
{
    return {
        .key = "p", .meaning = "share of the attention that is kept", .default_text = "0.85", .range = "0.01 to 1"};
}

Retrieval read_retrieval(PolicyParameters& parameters, const PolicyContext& context)
{
    require_budget(parameters, context);
    constexpr int32_t longest_page = 1 << 16;
    const int32_t page = parameters.positive("page", 16);
    if (page > longest_page)
        parameters.refuse_value("page", "is too long for a page", "give at most " + std::to_string(longest_page));
    return {.page = page, .tokens = context.budget, .skip_layers = parameters.whole("skip_layers", 2)};
}

double read_mass(PolicyParameters& parameters)
{
    return parameters.number("p", 0.85, 0.01, 1);
}

} // namespace palimpsest::engine
