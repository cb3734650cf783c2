#include "engine/policy/named/retrieval_parameters.h"

#include "engine/policy/named/budget_parameters.h"

namespace palimpsest::engine {

std::vector<ParameterInfo> retrieval_infos()
{
    return {{.key = "page",
             .meaning = Text("number of tokens in a retrieval page"),
             .default_text = Text::verbatim("16"),
             .range = range_of("1", "65536")},
            {.key = "skip_layers",
             .meaning = Text("number of lowest layers that read everything"),
             .default_text = Text::verbatim("2"),
             .range = at_least(0)}};
}

ParameterInfo mass_info()
{
    return {.key = "p",
            .meaning = Text("share of the attention that the chosen tokens hold"),
            .default_text = Text::verbatim("0.85"),
            .range = range_of("0.01", "1")};
}

Retrieval read_retrieval(PolicyParameters& parameters, const PolicyContext& context)
{
    require_budget(parameters, context);
    constexpr int32_t longest_page = 1 << 16;
    const int32_t page = parameters.positive("page", 16);
    if (page > longest_page)
        parameters.refuse_value(Text("{0} is too long for a page", parameters.pair("page")),
                                Text("give at most {0}", longest_page));
    return {.page = page, .tokens = context.budget, .skip_layers = parameters.whole("skip_layers", 2)};
}

double read_mass(PolicyParameters& parameters)
{
    return parameters.number("p", 0.85, 0.01, 1);
}

} // namespace palimpsest::engine
