#include "engine/eval/loss_meter.h"

#include <algorithm>
#include <cmath>

namespace palimpsest::engine {

double Loss::perplexity() const
{
    return std::exp(mean());
}

LossMeter::LossMeter(std::vector<uint64_t> lengths) : lengths_(std::move(lengths))
{
    std::sort(lengths_.begin(), lengths_.end());
    lengths_.erase(std::unique(lengths_.begin(), lengths_.end()), lengths_.end());
    std::erase_if(lengths_, [](uint64_t length) { return length < 2; }); // the first token has no loss
}

void LossMeter::add(uint64_t index, double nll)
{
    ++all_.tokens;
    all_.total += nll;
    if (noted_.size() < lengths_.size() && index + 1 == lengths_[noted_.size()])
        noted_.emplace_back(lengths_[noted_.size()], all_);
}

} // namespace palimpsest::engine
