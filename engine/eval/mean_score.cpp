#include "engine/eval/mean_score.h"

#include <algorithm>
#include <cmath>

#include "engine/eval/proportion.h"

namespace palimpsest::engine {

void MeanScore::add(double score)
{
    ++count_;
    ones_ += score == 1 ? 1 : 0;
    zeros_ += score == 0 ? 1 : 0;
    sum_ += score;
    squares_ += score * score;
}

std::pair<double, double> MeanScore::interval() const
{
    if (ones_ + zeros_ == count_) return Proportion{ones_, count_}.interval();
    if (count_ < 2) return {0, 1};
    constexpr double z = 1.959963984540054; // the normal distribution's 97.5 % quantile
    const double n = static_cast<double>(count_);
    const double variance = std::max(0.0, (squares_ - sum_ * sum_ / n) / (n - 1));
    const double half = z * std::sqrt(variance / n);
    return {std::max(0.0, mean() - half), std::min(1.0, mean() + half)};
}

} // namespace palimpsest::engine
