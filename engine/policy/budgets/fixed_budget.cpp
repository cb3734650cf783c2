#include "engine/policy/budgets/fixed_budget.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "engine/policy/budgets/allocate.h"

namespace palimpsest::engine {

namespace {

double weight(Profile profile, double beta, double height)
{
    switch (profile) {
    case Profile::Linear:
        return 2 - 1 / beta - (2 - 2 / beta) * height;
    case Profile::Geometric:
        return std::pow(2 * beta - 1, -height);
    case Profile::Exponential:
        return std::pow(beta, -height);
    }
    return 1;
}

} // namespace

std::vector<int64_t> layer_profile(Profile profile, double beta, int32_t layers, int64_t mean, int64_t limit)
{
    std::vector<double> weights;
    weights.reserve(static_cast<size_t>(layers));
    for (int32_t l = 0; l < layers; ++l)
        weights.push_back(layers == 1 ? 1.0 : weight(profile, beta, static_cast<double>(l) / (layers - 1)));
    if (profile == Profile::Exponential && layers > 1) {
        const double sum = std::accumulate(weights.begin(), weights.end(), 0.0);
        const double above_floor = layers * (1 - 1 / beta);
        for (double& w : weights)
            w = 1 / beta + w * above_floor / sum;
    }
    return allocate(weights, mean * layers, std::vector<int64_t>(weights.size(), limit));
}

std::unique_ptr<FixedBudget> FixedBudget::uniform(const PolicyContext& context, int64_t slots)
{
    auto budget = std::make_unique<FixedBudget>(std::vector<int64_t>(static_cast<size_t>(context.layers), slots),
                                                context.kv_heads);
    budget->is_uniform_ = true;
    return budget;
}

FixedBudget::FixedBudget(std::vector<int64_t> layer_slots, int32_t kv_heads)
    : slots_(layer_slots.begin(), layer_slots.end()), kv_heads_(kv_heads)
{
}

int64_t FixedBudget::total() const
{
    return std::accumulate(slots_.begin(), slots_.end(), int64_t{0}) * kv_heads_;
}

void FixedBudget::slots(int32_t layer, std::span<const ListCut>, std::span<int32_t> result)
{
    std::fill(result.begin(), result.end(), most(layer));
}

} // namespace palimpsest::engine
