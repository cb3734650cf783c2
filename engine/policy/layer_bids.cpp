#include "engine/policy/layer_bids.h"

#include <algorithm>
#include <cmath>

#include "engine/policy/allocate.h"

namespace palimpsest::engine {

void Preference::add_needs(SignalNeeds& needs) const
{
    needs.head_moments = true;
    needs.entropies = true;
}

double Preference::operator()(std::span<const ListCut> heads, const LayerObservation& seen) const
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
    return std::pow(std::max(0.0, entropy), 1 / tau1_) * std::pow(shift, 1 / tau2_);
}

LayerBids::LayerBids(Sizes sizes, std::shared_ptr<const LayerWeight> weight)
    : sizes_(sizes), weight_(std::move(weight)), weights_(static_cast<size_t>(sizes.layers), 1.0),
      limits_(static_cast<size_t>(sizes.layers), 0)
{
}

void LayerBids::observe(int32_t layer, std::span<const ListCut> heads, const LayerObservation& seen)
{
    int64_t longest = 0;
    for (const ListCut& list : heads)
        longest = std::max<int64_t>(longest, list.candidates());
    limits_[static_cast<size_t>(layer)] = std::min(longest, sizes_.most);
    if (seen.rows < sizes_.window) return;
    const double weight = (*weight_)(heads, seen);
    weights_[static_cast<size_t>(layer)] = std::isfinite(weight) ? weight : 0.0;
}

void LayerBids::slots(int32_t layer, std::span<const ListCut>, std::span<int32_t> result)
{
    const auto shares = allocate(weights_, sizes_.mean * sizes_.layers, limits_);
    std::fill(result.begin(), result.end(), static_cast<int32_t>(shares[static_cast<size_t>(layer)]));
}

void LayerBids::save(StateWriter& out) const
{
    for (const double weight : weights_)
        out.number(weight);
}

void LayerBids::load(StateReader& in)
{
    for (double& weight : weights_) {
        weight = in.number("weight of a layer");
        if (!std::isfinite(weight) || weight < 0) StateReader::refuse("has a layer whose weight is no number");
    }
}

} // namespace palimpsest::engine
