// A share of right answers and how far it can be trusted.
#pragma once

#include <cstdint>
#include <utility>

namespace palimpsest::engine {

struct Proportion {
    uint64_t right = 0, of = 0;

    void add(bool is_right)
    {
        right += is_right ? 1 : 0;
        ++of;
    }
    double share() const { return of == 0 ? 0.0 : static_cast<double>(right) / static_cast<double>(of); }
    // The 95 % interval of the score test (Wilson 1927, "Probable inference, the law of succession, and statistical
    // inference", equation 8 without a correction for continuity). {0, 1} without observations.
    std::pair<double, double> interval() const;
};

} // namespace palimpsest::engine
