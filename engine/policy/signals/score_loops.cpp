#include "engine/policy/signals/score_loops.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "engine/policy/signals/score_loops.cpp"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace palimpsest::engine {
namespace HWY_NAMESPACE {
namespace {
namespace hn = hwy::HWY_NAMESPACE;

using Wide = hn::ScalableTag<double>;
using Single = hn::CappedTag<double, 1>;

// Calls step(tag, i) for whole vectors of [first, last), then for one entry at a time.
template<class Step>
HWY_INLINE void for_entries(size_t first, size_t last, Step&& step)
{
    const Wide d;
    const size_t lanes = hn::Lanes(d);
    for (; first + lanes <= last; first += lanes)
        step(d, first);
    for (; first < last; ++first)
        step(Single(), first);
}

void decay_and_add_each(double kept, const float* x, double divisor, double* y, size_t n)
{
    for_entries(0, n, [&](auto d, size_t i) HWY_ATTR {
        const hn::Rebind<float, decltype(d)> narrow;
        const auto added = hn::Div(hn::PromoteTo(d, hn::LoadU(narrow, x + i)), hn::Set(d, divisor));
        hn::StoreU(hn::Add(hn::Mul(hn::Set(d, kept), hn::LoadU(d, y + i)), added), d, y + i);
    });
}

void decay_and_add_same(double kept, double add, double* y, size_t n)
{
    for_entries(0, n, [&](auto d, size_t i) HWY_ATTR {
        hn::StoreU(hn::Add(hn::Mul(hn::Set(d, kept), hn::LoadU(d, y + i)), hn::Set(d, add)), d, y + i);
    });
}

void divide_each(const double* x, const double* by, double* to, size_t n)
{
    for_entries(0, n, [&](auto d, size_t i) HWY_ATTR {
        hn::StoreU(hn::Div(hn::LoadU(d, x + i), hn::LoadU(d, by + i)), d, to + i);
    });
}

template<class D>
HWY_INLINE hn::Vec<D> every(D d, const double* x, size_t stride)
{
    HWY_ALIGN double lanes[hn::MaxLanes(D())];
    for (size_t i = 0; i < hn::Lanes(d); ++i)
        lanes[i] = x[i * stride];
    return hn::Load(d, lanes);
}

template<class D, class V>
HWY_INLINE V mean_and_gamma_variance(D d, V sum, V squares, V count, double gamma)
{
    const auto zero = hn::Zero(d), one = hn::Set(d, 1.0);
    const auto variance = hn::Div(hn::Sub(squares, hn::Div(hn::Mul(sum, sum), count)), hn::Sub(count, one));
    const auto counts = hn::And(hn::Gt(count, one), hn::Gt(variance, zero));
    return hn::Add(hn::Div(sum, count), hn::Mul(hn::Set(d, gamma), hn::IfThenElseZero(counts, variance)));
}

void mean_and_variance_each(const double* moments, const double* count, size_t group, double gamma, double* to,
                            size_t n)
{
    const auto heads = static_cast<double>(group);
    for_entries(0, n, [&](auto d, size_t i) HWY_ATTR {
        const auto counts = hn::LoadU(d, count + i);
        auto total = hn::Zero(d);
        for (size_t g = 0; g < group; ++g) {
            const double* at = moments + 2 * (i * group + g);
            const auto sum = every(d, at, 2 * group), squares = every(d, at + 1, 2 * group);
            total = hn::Add(total, mean_and_gamma_variance(d, sum, squares, counts, gamma));
        }
        hn::StoreU(hn::Div(total, hn::Set(d, heads)), d, to + i);
    });
}

void pool_entries(Pooling kind, int32_t kernel, const double* from, size_t first, size_t last, double* to)
{
    const auto neighbours = static_cast<size_t>(kernel), reach = neighbours / 2;
    for_entries(first, last, [&](auto d, size_t i) HWY_ATTR {
        auto pooled = hn::LoadU(d, from + i - reach);
        for (size_t k = 1; k < neighbours; ++k) {
            const auto next = hn::LoadU(d, from + i - reach + k);
            pooled =
                kind == Pooling::Max ? hn::IfThenElse(hn::Lt(pooled, next), next, pooled) : hn::Add(pooled, next);
        }
        if (kind != Pooling::Max) pooled = hn::Div(pooled, hn::Set(d, static_cast<double>(kernel)));
        hn::StoreU(pooled, d, to + i);
    });
}

size_t find_not_above(const double* x, size_t first, size_t last, double bound)
{
    const Wide d;
    const size_t lanes = hn::Lanes(d);
    const auto bounds = hn::Set(d, bound);
    for (; first + lanes <= last; first += lanes) {
        const auto found = hn::FindFirstTrue(d, hn::Le(hn::LoadU(d, x + first), bounds));
        if (found >= 0) return first + static_cast<size_t>(found);
    }
    while (first < last && x[first] > bound)
        ++first;
    return first;
}

size_t find_last_lowest(const double* x, size_t first, size_t last)
{
    const Wide d;
    const size_t lanes = hn::Lanes(d);
    double lowest = x[first];
    size_t i = first;
    if (i + lanes <= last) {
        auto least = hn::LoadU(d, x + i);
        for (i += lanes; i + lanes <= last; i += lanes)
            least = hn::Min(least, hn::LoadU(d, x + i));
        lowest = hn::GetLane(hn::MinOfLanes(d, least));
    }
    for (; i < last; ++i)
        lowest = x[i] < lowest ? x[i] : lowest;
    while (x[--last] != lowest) {
    }
    return last;
}

} // namespace
} // namespace HWY_NAMESPACE
} // namespace palimpsest::engine
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace palimpsest::engine {

HWY_EXPORT(decay_and_add_each);
HWY_EXPORT(decay_and_add_same);
HWY_EXPORT(divide_each);
HWY_EXPORT(mean_and_variance_each);
HWY_EXPORT(pool_entries);
HWY_EXPORT(find_not_above);
HWY_EXPORT(find_last_lowest);

void decay_and_add(double kept, std::span<const float> x, double divisor, std::span<double> y)
{
    HWY_DYNAMIC_DISPATCH(decay_and_add_each)(kept, x.data(), divisor, y.data(), y.size());
}

void decay_and_add(double kept, double add, std::span<double> y)
{
    HWY_DYNAMIC_DISPATCH(decay_and_add_same)(kept, add, y.data(), y.size());
}

void divide(const double* x, const double* by, std::span<double> to)
{
    HWY_DYNAMIC_DISPATCH(divide_each)(x, by, to.data(), to.size());
}

void mean_and_variance(const double* moments, const double* count, size_t group, double gamma, std::span<double> to)
{
    HWY_DYNAMIC_DISPATCH(mean_and_variance_each)(moments, count, group, gamma, to.data(), to.size());
}

void pool_inner(Pooling kind, int32_t kernel, const double* from, size_t first, size_t last, double* to)
{
    HWY_DYNAMIC_DISPATCH(pool_entries)(kind, kernel, from, first, last, to);
}

size_t last_lowest(const double* x, size_t first, size_t last)
{
    return HWY_DYNAMIC_DISPATCH(find_last_lowest)(x, first, last);
}

size_t next_not_above(const double* x, size_t first, size_t last, double bound)
{
    return HWY_DYNAMIC_DISPATCH(find_not_above)(x, first, last, bound);
}

} // namespace palimpsest::engine
#endif
