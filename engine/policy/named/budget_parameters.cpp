#include "engine/policy/named/budget_parameters.h"

#include <algorithm>

#include "engine/policy/budgets/fitted_profile.h"
#include "engine/policy/budgets/head_shares.h"
#include "engine/policy/budgets/layer_bids.h"
#include "engine/policy/budgets/threshold_budget.h"
#include "engine/policy/named/schedule.h"

namespace palimpsest::engine {

namespace {

enum class Spread : uint8_t { Uniform, Pyramid, Auto };
enum class Heads : uint8_t { Uniform, Ada };
enum class Allocation : uint8_t { Linear, Geometric, Exponential, Entropy, Gini, Sparsity };

constexpr double beta_limit = 1e6;

// Used both to describe the key and to parse it.
Choices<Spread> spreads(const BudgetAxis& axis)
{
    Choices<Spread> all = {{"uniform", Spread::Uniform}, {"pyramid", Spread::Pyramid}};
    if (axis.by_norm) all.emplace_back("auto", Spread::Auto);
    return all;
}

Choices<Heads> head_choices()
{
    return {{"uniform", Heads::Uniform}, {"ada", Heads::Ada}};
}

Choices<Allocation> allocations()
{
    return {{"linear", Allocation::Linear},
            {"geometric", Allocation::Geometric},
            {"exponential", Allocation::Exponential},
            {"entropy", Allocation::Entropy},
            {"gini", Allocation::Gini},
            {"sparsity", Allocation::Sparsity}};
}

Profile profile_of(Allocation allocation)
{
    if (allocation == Allocation::Linear) return Profile::Linear;
    return allocation == Allocation::Geometric ? Profile::Geometric : Profile::Exponential;
}

kernels::RowStatistic statistic_of(Allocation allocation)
{
    if (allocation == Allocation::Entropy) return kernels::RowStatistic::Entropy;
    return allocation == Allocation::Gini ? kernels::RowStatistic::Gini : kernels::RowStatistic::Density;
}

std::unique_ptr<Budget> profile_budget(Profile profile, double beta, const PolicyContext& context,
                                       const BudgetBasis& basis, bool is_fitted)
{
    if (is_fitted)
        return std::make_unique<FittedProfile>(FittedProfile::Shape{.profile = profile,
                                                                    .beta = beta,
                                                                    .layers = context.layers,
                                                                    .kv_heads = context.kv_heads,
                                                                    .mean = basis.slots});
    return std::make_unique<FixedBudget>(layer_profile(profile, beta, context.layers, basis.slots),
                                         context.kv_heads);
}

std::unique_ptr<Budget> read_threshold(PolicyParameters& parameters, const PolicyContext& context,
                                       const BudgetBasis& basis)
{
    NormThreshold::Rule rule;
    rule.threshold = parameters.number("threshold", 0.01, 0, 1);
    rule.ranking = Ranking::Score;
    const bool old = parameters.predates("norm");
    const Choices<NormOf> norms = {{"head", NormOf::Heads}, {"scores", NormOf::Scores}};
    rule.norm = parameters.choice("norm", old ? Choices<NormOf>(norms.rbegin(), norms.rend()) : norms);
    rule.mask_sinks = parameters.whole("mask_sinks", old ? 0 : 4);
    rule.least = 1;
    return std::make_unique<NormThreshold>(rule, context, basis.slots);
}

} // namespace

void add_allocation_infos(std::vector<ParameterInfo>& infos)
{
    infos.push_back({.key = "allocation",
                     .meaning =
                         "how layers share their slots: a fixed profile, or by how spread out their attention "
                         "is seen to be",
                     .default_text = "linear",
                     .range = names_of(allocations())});
    infos.push_back({.key = "beta",
                     .meaning = "steepness of a fixed profile: the top layer gets 1/beta of the mean",
                     .default_text = "20",
                     .range = "1 to 1000000"});
}

void add_head_infos(std::vector<ParameterInfo>& infos)
{
    infos.push_back(
        {.key = "heads",
         .meaning = "whether heads of a layer get equal slots or as many as they have of its best tokens",
         .default_text = "uniform",
         .range = names_of(head_choices())});
    infos.push_back({.key = "floor",
                     .meaning = "with heads=ada: the share of its slots that no head gives away",
                     .default_text = "0.2",
                     .range = "0 to 1"});
}

void add_layer_infos(std::vector<ParameterInfo>& infos, const BudgetAxis& axis)
{
    const std::string equally = "how layers share the budget: equally", as_pyramid = "as in pyramidkv";
    infos.push_back({.key = "budget",
                     .meaning = axis.by_norm
                                    ? equally + ", " + as_pyramid +
                                          ", or as many tokens as hold the norm of a layer's attention, the "
                                          "budget being the most"
                                    : equally + " or " + as_pyramid,
                     .default_text = "uniform",
                     .range = names_of(spreads(axis))});
    add_allocation_infos(infos);
    if (!axis.by_norm) return;
    infos.push_back({.key = "threshold",
                     .meaning = "with budget=auto: the share of the norm that may be missing",
                     .default_text = "0.01",
                     .range = "0 to 1"});
    infos.push_back({.key = "norm",
                     .meaning = "with budget=auto: the norms of the query heads' attention, averaged, or one norm "
                                "of the scores of a layer",
                     .default_text = "head",
                     .range = "head, scores"});
    infos.push_back({.key = "mask_sinks",
                     .meaning = "with budget=auto: first tokens that the norm does not count",
                     .default_text = "4",
                     .range = "0 and more"});
}

void add_budget_infos(std::vector<ParameterInfo>& infos, const BudgetAxis& axis)
{
    add_layer_infos(infos, axis);
    if (axis.by_head) add_head_infos(infos);
}

std::unique_ptr<Budget> read_allocation(PolicyParameters& parameters, const PolicyContext& context,
                                        const BudgetBasis& basis)
{
    const auto allocation = parameters.choice("allocation", allocations());
    if (allocation <= Allocation::Exponential) {
        const double beta = parameters.number("beta", 20, 1, beta_limit);
        return profile_budget(profile_of(allocation), beta, context, basis,
                              read_schedule(parameters).once && !basis.constant);
    }
    parameters.refuse_idle({"beta"}, "on an allocation by observed weights");
    return std::make_unique<LayerWeightsBudget>(LayerWeightsBudget::Sizes{.layers = context.layers,
                                                                          .kv_heads = context.kv_heads,
                                                                          .mean = basis.slots,
                                                                          .most = 2 * basis.slots,
                                                                          .window = basis.window},
                                                std::make_shared<RowWeight>(statistic_of(allocation)));
}

std::unique_ptr<Budget> share_heads(PolicyParameters& parameters, const PolicyContext& context,
                                    const BudgetBasis& basis, std::unique_ptr<Budget> layers)
{
    const double floor = parameters.number("floor", 0.2, 0, 1);
    const int64_t most = int64_t{context.context} - context.chunk - static_cast<int64_t>(context.pins.tokens()) -
                         basis.ends.sinks - basis.ends.recent;
    if (basis.slots > most)
        parameters.refuse("a budget of " + std::to_string(context.budget) + " and a chunk of " +
                              std::to_string(context.chunk) + " need more positions than the " +
                              std::to_string(context.context) + " the model was trained on",
                          "give a smaller --budget or --chunk");
    return std::make_unique<HeadShares>(std::move(layers), context.kv_heads, floor, most);
}

std::unique_ptr<Budget> read_heads(PolicyParameters& parameters, const PolicyContext& context,
                                   const BudgetBasis& basis, std::unique_ptr<Budget> layers)
{
    if (!basis.axis.by_head) return layers;
    const auto heads = parameters.choice("heads", head_choices());
    if (heads == Heads::Uniform) {
        parameters.refuse_idle({"floor"}, "without heads=ada");
        return layers;
    }
    return share_heads(parameters, context, basis, std::move(layers));
}

std::unique_ptr<Budget> read_layers(PolicyParameters& parameters, const PolicyContext& context,
                                    const BudgetBasis& basis)
{
    const auto spread = parameters.choice("budget", spreads(basis.axis));
    std::unique_ptr<Budget> layers;
    if (spread == Spread::Pyramid) {
        layers = read_allocation(parameters, context, basis);
    } else {
        parameters.refuse_idle({"allocation", "beta"}, "without budget=pyramid");
        layers = spread == Spread::Auto ? read_threshold(parameters, context, basis)
                                        : FixedBudget::uniform(context, basis.slots);
    }
    if (spread != Spread::Auto) parameters.refuse_idle({"threshold", "norm", "mask_sinks"}, "without budget=auto");
    return layers;
}

std::unique_ptr<Budget> read_budget(PolicyParameters& parameters, const PolicyContext& context,
                                    const BudgetBasis& basis)
{
    return read_heads(parameters, context, basis, read_layers(parameters, context, basis));
}

int64_t require_slots(const PolicyParameters& parameters, const PolicyContext& context, const ProtectedEnds& ends,
                      int64_t least)
{
    require_budget(parameters, context);
    const int64_t slots = ends.slots(context.budget);
    if (slots < least) {
        parameters.refuse("sinks=" + std::to_string(ends.sinks) + " and recent=" + std::to_string(ends.recent) +
                              (least == 1 ? " leave no slot to choose"
                                          : " leave fewer than " + std::to_string(least) + " slots to choose") +
                              " in a budget of " + std::to_string(context.budget) + " tokens",
                          "raise the budget, or lower sinks or recent until " +
                              (least == 1 ? "one slot is left" : std::to_string(least) + " are left"));
    }
    return slots;
}

void require_budget(const PolicyParameters& parameters, const PolicyContext& context)
{
    if (context.budget == no_budget)
        parameters.refuse("it needs a budget", "give --budget a number; only full and refreekv can do without");
}

} // namespace palimpsest::engine
