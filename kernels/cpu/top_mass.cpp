#include "kernels/cpu/top_mass.h"

#include <algorithm>
#include <bit>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/top_mass.cpp"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace palimpsest::kernels {
namespace HWY_NAMESPACE {
namespace {
namespace hn = hwy::HWY_NAMESPACE;

using F32 = hn::ScalableTag<float>;

// The sum of the weights above `threshold`.
double MassAbove(const float* weights, int64_t count, float threshold)
{
    const F32 d;
    const hn::Half<F32> half;
    const hn::Repartition<double, F32> wide;
    const auto lanes = static_cast<int64_t>(hn::Lanes(d));
    const auto thresholds = hn::Set(d, threshold);
    auto lower = hn::Zero(wide), upper = hn::Zero(wide);
    int64_t i = 0;
    for (; i + lanes <= count; i += lanes) {
        const auto x = hn::LoadU(d, weights + i);
        const auto above = hn::IfThenElseZero(hn::Gt(x, thresholds), x);
        lower = hn::Add(lower, hn::PromoteTo(wide, hn::LowerHalf(half, above)));
#if HWY_TARGET != HWY_SCALAR
        upper = hn::Add(upper, hn::PromoteTo(wide, hn::UpperHalf(half, above)));
#endif
    }
    double mass = hn::GetLane(hn::SumOfLanes(wide, hn::Add(lower, upper)));
    for (; i < count; ++i)
        if (weights[i] > threshold) mass += static_cast<double>(weights[i]);
    return mass;
}

// Zeroes weights that are not above `least`, lists the indices of those in (least, most] in `candidates`, and
// returns their number.
int64_t PruneAndListBetween(float* weights, int64_t count, float least, float most, uint32_t* candidates)
{
    const F32 d;
    const auto lanes = static_cast<int64_t>(hn::Lanes(d));
    int64_t listed = 0, i = 0;
    for (; i + lanes <= count; i += lanes) {
        const auto x = hn::LoadU(d, weights + i);
        const auto below = hn::Le(x, hn::Set(d, least));
        hn::StoreU(hn::IfThenZeroElse(below, x), d, weights + i); // NaN is kept, so that it shows in the result
        static_assert(hn::MaxLanes(F32()) <= 64);
        uint64_t between = 0;
        const auto edge = hn::AndNot(below, hn::Le(x, hn::Set(d, most)));
        hn::StoreMaskBits(d, edge, reinterpret_cast<uint8_t*>(&between));
        for (; between != 0; between &= between - 1) // taking set bits one by one is fast, because few are set
            candidates[listed++] = static_cast<uint32_t>(i + std::countr_zero(between));
    }
    for (; i < count; ++i) {
        if (weights[i] <= least) weights[i] = 0.0f;
        if (weights[i] > least && weights[i] <= most) candidates[listed++] = static_cast<uint32_t>(i);
    }
    return listed;
}

} // namespace
} // namespace HWY_NAMESPACE
} // namespace palimpsest::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace palimpsest::kernels {
HWY_EXPORT(MassAbove);
HWY_EXPORT(PruneAndListBetween);

namespace cpu {

namespace {

// Finds the smallest number of the best weights in `candidates` that reach `mass`, puts them first and returns
// their number. Halves the range repeatedly: if the better half reaches the mass, only that half is searched
// further, otherwise it is kept completely.
int64_t smallest_prefix(const float* weights, uint32_t* candidates, int64_t count, double mass)
{
    const auto better = [&](uint32_t a, uint32_t b) {
        return weights[a] > weights[b] || (weights[a] == weights[b] && a < b);
    };
    int64_t first = 0, last = count; // the best `first` do not reach the mass, the best `last` do
    while (last - first > 1) {
        const int64_t middle = first + (last - first) / 2;
        std::nth_element(candidates + first, candidates + middle, candidates + last, better);
        double half = 0;
        for (int64_t i = first; i < middle; ++i)
            half += static_cast<double>(weights[candidates[i]]);
        if (half >= mass) {
            last = middle;
        } else {
            first = middle;
            mass -= half;
        }
    }
    return last;
}

} // namespace

// Encloses the cut-off between two thresholds, by bisection of their bits (the bits of positive floats are ordered
// like the floats), so that only a few weights remain to be sorted.
void keep_top_mass(float* weights, int64_t count, double share, uint32_t* candidates)
{
    constexpr int32_t bits_of_one = 0x3f800000, narrow = 1 << 18; // 2^18 of the 2^23 floats in [x, 2x)
    const auto mass_above = HWY_DYNAMIC_DISPATCH(MassAbove);
    double wanted = (share - 1e-12) * mass_above(weights, count, 0.0f), beyond = 0;
    int32_t least = 0, most = bits_of_one; // mass above `most` = beyond < wanted <= mass above `least`
    while (most - least > narrow) {
        const int32_t middle = least + (most - least) / 2;
        const double mass = mass_above(weights, count, std::bit_cast<float>(middle));
        (mass >= wanted ? least : most) = middle;
        if (mass < wanted) beyond = mass;
    }
    wanted -= beyond;
    const int64_t between = HWY_DYNAMIC_DISPATCH(PruneAndListBetween)(weights, count, std::bit_cast<float>(least),
                                                                      std::bit_cast<float>(most), candidates);
    for (int64_t i = smallest_prefix(weights, candidates, between, wanted); i < between; ++i)
        weights[candidates[i]] = 0.0f;
}

} // namespace cpu
} // namespace palimpsest::kernels
#endif
