#include "engine/policy/budgets/layer_bids.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "engine/policy/budgets/allocate.h"

namespace palimpsest::engine {

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

} // namespace

void Preference::add_needs(SignalNeeds& needs) const
{
    needs.head_moments = true;
    needs.entropies = true;
}

double Preference::log_weight(std::span<const ListCut> heads, const LayerObservation& seen) const
{
    double entropy = 0, shift = 0;
    for (size_t h = 0; h < heads.size(); ++h) {
        const ListCut& list = heads[h];
        for (uint32_t entry = 0; entry + static_cast<uint32_t>(list.ends.recent) < list.size(); ++entry) {
            const size_t rank = list.view.rank(entry);
            entropy += static_cast<double>(seen.entropies[h][rank]);
            shift += list.score.variances(rank);
        }
    }
    return std::log(std::max(0.0, entropy)) / tau1_ + std::log(shift) / tau2_;
}

LayerWeightsBudget::LayerWeightsBudget(Sizes sizes, std::shared_ptr<const LayerWeight> weight)
    : sizes_(sizes), weight_(std::move(weight)), log_weights_(static_cast<size_t>(sizes.layers), 0.0),
      limits_(static_cast<size_t>(sizes.layers), 0)
{
}

void LayerWeightsBudget::add_needs(SignalNeeds& needs) const
{
    weight_->add_needs(needs);
    needs.statistics_rows = sizes_.window;
}

void LayerWeightsBudget::observe(int32_t layer, std::span<const ListCut> heads, const LayerObservation& seen)
{
    int64_t longest = 0;
    for (const ListCut& list : heads)
        longest = std::max<int64_t>(longest, list.candidates());
    limits_[static_cast<size_t>(layer)] = std::min(longest, sizes_.most);
    shares_.clear();
    if (seen.rows < sizes_.window) return;
    const double weight = weight_->log_weight(heads, seen);
    log_weights_[static_cast<size_t>(layer)] = weight < infinity ? weight : -infinity;
}

void LayerWeightsBudget::slots(int32_t layer, std::span<const ListCut>, std::span<int32_t> result)
{
    if (shares_.empty()) {
        const double largest = *std::max_element(log_weights_.begin(), log_weights_.end());
        std::vector<double> weights;
        for (const double weight : log_weights_)
            weights.push_back(weight == -infinity ? 0.0 : std::exp(weight - largest));
        shares_ = allocate(weights, sizes_.mean * sizes_.layers, limits_);
    }
    std::fill(result.begin(), result.end(), static_cast<int32_t>(shares_[static_cast<size_t>(layer)]));
}

void LayerWeightsBudget::save(StateWriter& out) const
{
    for (const double weight : log_weights_)
        out.number(weight);
}

void LayerWeightsBudget::load(StateReader& in)
{
    for (double& weight : log_weights_) {
        weight = in.number(Text("weight of a layer"));
        if (!(weight < infinity)) StateReader::refuse(Text("the weight of a layer is not a number"));
    }
    shares_.clear();
}

} // namespace palimpsest::engine
