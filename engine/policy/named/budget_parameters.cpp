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

// The choices of the key `budget`, for its description and for parsing it.
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

void add_allocation_infos(std::vector<ParameterInfo>& infos, bool with_pyramid)
{
    infos.push_back(choice_info(
        "allocation",
        with_pyramid
            ? Text("with budget=pyramid: how the layers share their slots: by a fixed profile (linear, "
                   "geometric, exponential), or by how concentrated or spread out the attention of each "
                   "layer is (entropy, gini, sparsity)")
            : Text("how the layers share their slots: by a fixed profile (linear, geometric, exponential), "
                   "or by how concentrated or spread out the attention of each layer is (entropy, gini, "
                   "sparsity)"),
        names_of(allocations())));
    infos.push_back(
        {.key = "beta",
         .meaning = Text("steepness of a fixed profile; if it is linear, the top layer gets 1/beta of the mean"),
         .default_text = Text::verbatim("20"),
         .range = range_of("1", "1000000")});
}

void add_head_infos(std::vector<ParameterInfo>& infos)
{
    infos.push_back(choice_info("heads",
                                Text("whether all heads of a layer get equally many slots, or as many as they have "
                                     "of the layer's best tokens"),
                                names_of(head_choices())));
    infos.push_back({.key = "floor",
                     .meaning = Text("with heads=ada: share of its slots that a head keeps in any case"),
                     .default_text = Text::verbatim("0.2"),
                     .range = range_of("0", "1")});
}

void add_layer_infos(std::vector<ParameterInfo>& infos, const BudgetAxis& axis)
{
    infos.push_back(choice_info(
        "budget",
        axis.by_norm
            ? Text("how the budget is divided among the layers: equally, by a profile as in pyramidkv, or "
                   "automatically, with as many tokens in each layer as hold the norm of its attention, at most "
                   "the budget")
            : Text("how the budget is divided among the layers: equally, or by a profile as in pyramidkv"),
        names_of(spreads(axis))));
    add_allocation_infos(infos, true);
    if (!axis.by_norm) return;
    infos.push_back({.key = "threshold",
                     .meaning = Text("with budget=auto: share of the norm that may be missing"),
                     .default_text = Text::verbatim("0.01"),
                     .range = range_of("0", "1")});
    infos.push_back(choice_info("norm",
                                Text("with budget=auto: whether the norm is taken of the attention of each query "
                                     "head and averaged, or of all scores of a layer together"),
                                {"head", "scores"}));
    infos.push_back({.key = "mask_sinks",
                     .meaning = Text("with budget=auto: number of first tokens that the norm leaves out"),
                     .default_text = Text::verbatim("4"),
                     .range = at_least(0)});
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
    parameters.refuse_idle_with({"beta"}, "allocation=" + parameters.resolved().parameters.at("allocation"));
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
        parameters.refuse(Text("a budget of {0} and a chunk of {1} need more positions than the {2} the model was "
                               "trained on",
                               context.budget, context.chunk, context.context),
                          Text("choose a smaller {0} or {1}", Setting::Budget, Setting::Chunk));
    return std::make_unique<HeadShares>(std::move(layers), context.kv_heads, floor, most);
}

std::unique_ptr<Budget> read_heads(PolicyParameters& parameters, const PolicyContext& context,
                                   const BudgetBasis& basis, std::unique_ptr<Budget> layers)
{
    if (!basis.axis.by_head) return layers;
    const auto heads = parameters.choice("heads", head_choices());
    if (heads == Heads::Uniform) {
        parameters.refuse_idle_without({"floor"}, "heads=ada");
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
        parameters.refuse_idle_without({"allocation", "beta"}, "budget=pyramid");
        layers = spread == Spread::Auto ? read_threshold(parameters, context, basis)
                                        : FixedBudget::uniform(context, basis.slots);
    }
    if (spread != Spread::Auto) parameters.refuse_idle_without({"threshold", "norm", "mask_sinks"}, "budget=auto");
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
    if (slots >= least) return slots;
    if (least == 1)
        parameters.refuse(Text("sinks={0} and recent={1} leave no slot to choose in a budget of {2} tokens",
                               ends.sinks, ends.recent, context.budget),
                          Text("raise the budget, or lower sinks or recent until one slot is left"));
    parameters.refuse(
        Text("sinks={0} and recent={1} leave fewer than {2} slots to choose in a budget of {3} tokens", ends.sinks,
             ends.recent, least, context.budget),
        Text("raise the budget, or lower sinks or recent until {0} slots are left", least));
}

void require_budget(const PolicyParameters& parameters, const PolicyContext& context)
{
    if (context.budget == no_budget)
        parameters.refuse(
            Text("it needs a budget"),
            Text("set {0} to a number; only full and refreekv work without a budget", Setting::Budget));
}

} // namespace palimpsest::engine
