#include "engine/session/arithmetic.h"

#include <algorithm>
#include <cmath>

#include "kernels/base/fixed_point_types.h"

namespace palimpsest::engine {
namespace {

constexpr std::string_view fixed_point_mark = " fixed-point";

} // namespace

Arithmetic arithmetic_of(const Model& model)
{
    const kernels::Backend& backend = model.backend();
    const auto matrices = model.matrices();
    const bool in_fixed_point = backend.name() == "cpu" && !backend.exact_products() &&
                                std::ranges::any_of(matrices, [](const kernels::HostMatrix& m) {
                                    return kernels::may_be_in_fixed_point(m.type);
                                });
    return {backend.simd_target(), in_fixed_point};
}

Arithmetic arithmetic_named(std::string_view name)
{
    const bool in_fixed_point = name.ends_with(fixed_point_mark);
    if (in_fixed_point) name.remove_suffix(fixed_point_mark.size());
    return {std::string(name), in_fixed_point};
}

std::string name_of(const Arithmetic& arithmetic)
{
    return arithmetic.target + std::string(arithmetic.in_fixed_point ? fixed_point_mark : "");
}

bool may_be_same_logits(const Arithmetic& one, std::span<const float> logits, const Arithmetic& other,
                        std::span<const float> others)
{
    const double bound = one.is_on_gpu() == other.is_on_gpu() ? 1e-3 : 5e-2;
    double largest = 0;
    for (const float logit : logits)
        largest = std::max(largest, std::abs(double{logit}));
    if (!std::isfinite(largest)) return false;
    return std::ranges::equal(logits, others,
                              [&](double a, double b) { return std::abs(a - b) <= bound * largest; });
}

} // namespace palimpsest::engine
