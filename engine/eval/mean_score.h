// The mean of scores in [0, 1] and how far it can be trusted.
#pragma once

#include <cstdint>
#include <utility>

namespace palimpsest::engine {

class MeanScore {
public:
    void add(double score);
    uint64_t count() const { return count_; }
    double mean() const { return count_ == 0 ? 0.0 : sum_ / static_cast<double>(count_); }
    // 95 %. If every score is 0 or 1, that of a proportion (proportion.h); otherwise that of a normally distributed
    // mean, with the standard deviation of the sample, within [0, 1]. {0, 1} for fewer than two other scores.
    std::pair<double, double> interval() const;

private:
    uint64_t count_ = 0, ones_ = 0, zeros_ = 0;
    double sum_ = 0, squares_ = 0;
};

} // namespace palimpsest::engine
