// Runs a test on every SIMD target of this machine.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "kernels/cpu/simd_target.h"
#include "tests/support/catch.h"

namespace palimpsest::tests {

// Calls `body` with each target pinned; adds the target's name to messages of failures.
template<class Body>
void on_every_target(const Body& body)
{
    for (const auto& target : kernels::simd_targets()) {
        kernels::pin_simd_target(target);
        INFO(target);
        body();
    }
    kernels::pin_simd_target("");
}

// Applies of_all(values, count) in place and returns the largest error(x, y) over inputs x and results y. Pads x
// with `filler`, because the count must be a multiple of 16.
template<class OfAll, class ErrorOf>
double worst_error(std::vector<float> x, float filler, const OfAll& of_all, const ErrorOf& error)
{
    x.resize((x.size() + 15) / 16 * 16, filler);
    std::vector<float> y = x;
    of_all(y.data(), static_cast<int64_t>(y.size()));
    double worst = 0;
    for (size_t i = 0; i < x.size(); ++i)
        worst = std::max(worst, error(static_cast<double>(x[i]), static_cast<double>(y[i])));
    return worst;
}

} // namespace palimpsest::tests
