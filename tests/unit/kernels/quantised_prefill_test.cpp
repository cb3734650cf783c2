// Prefill with quantised weights on the CPU, whose kernels may convert activations to 16-bit fixed-point numbers.

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "kernels/reference/reference_linear.h"
#include "tests/support/catch.h"
#include "tests/unit/kernels/quantised_rows.h"

using namespace palimpsest;
using namespace palimpsest::kernels;
using namespace palimpsest::kernels::test;

namespace {

// Returns groups of 32 activations that are integers times one power of two per group. Each group contains the
// largest integer that 16 bits hold, so the scale of the group is this power of two, and nothing is rounded.
std::vector<float> fixed_point_numbers(std::mt19937& random, int64_t count)
{
    constexpr int most = 127 * 256 + 127;
    std::uniform_int_distribution<int> number(-most, most), exponent(-20, 4);
    std::vector<float> x(static_cast<size_t>(count));
    for (size_t group = 0; group < x.size(); group += 32) {
        const int e = exponent(random);
        for (size_t i = group; i < group + 32; ++i)
            x[i] = std::ldexp(static_cast<float>(number(random)), e);
        x[group + random() % 32] = std::ldexp(static_cast<float>(random() % 2 ? most : -most), e);
    }
    return x;
}

std::vector<float> prefilled(Backend& backend, const Weight& weight, const std::vector<float>& x)
{
    const int64_t count = std::ssize(x) / weight.cols();
    auto y = poisoned(count * weight.rows());
    backend.linear(
        {.x = x.data(), .rows = count, .norm = {}, .weight = &weight, .y = y.data(), .phase = Phase::Prefill});
    return y;
}

double error_of(Backend& backend, const Weight& weight, const std::vector<float>& x)
{
    const auto expected = reference::linear({.x = x.data(),
                                             .rows = std::ssize(x) / weight.cols(),
                                             .norm = {},
                                             .weight = &weight,
                                             .phase = Phase::Prefill});
    return largest_error(prefilled(backend, weight, x), expected);
}

std::vector<float> some_rows(const std::vector<float>& x, int64_t first, int64_t count, int64_t width)
{
    return {x.begin() + first * width, x.begin() + (first + count) * width};
}

} // namespace

TEST_CASE("fixed-point products are as precise as f32 products for activations that 16 bits can hold",
          "[quantised]")
{
    for (const TestBackend& on : every_backend()) {
        if (on.kind() != Kind::Cpu) continue;
        const auto backend = on.open(1);
        for (const DType type : block_types())
            for (const int64_t width : {32, 96, 256, 288, 512, 1024}) {
                if (width % info(type).block != 0) continue;
                Rows w(type, width);
                for (int64_t count = 1; count <= 7; ++count) { // tiles of every height, and two tiles
                    INFO("on " << on << ", type " << info(type).name << ", " << count << " rows, width " << width);
                    const auto x = fixed_point_numbers(w.random, count * width);
                    CHECK(error_of(*backend, *w.weight, x) < 2 * on.product_error(type, Phase::Prefill, true));
                }
            }
    }
}

TEST_CASE("the bits of a prefill row with quantised weights depend on neither other rows nor threads",
          "[quantised]")
{
    constexpr int64_t count = 13;
    for (const auto& [on, exact] : every_cpu())
        for (const DType type : block_types()) {
            Rows w(type);
            const auto x = random_floats(w.random, count * cols);
            const auto together = prefilled(*on.open(1, exact), *w.weight, x);
            for (const int threads : {2, 3, 5}) {
                const auto backend = on.open(threads, exact);
                INFO("on " << on << ", type " << info(type).name << ", " << threads << " threads, exact " << exact);
                CHECK(prefilled(*backend, *w.weight, x) == together);
                CHECK(prefilled(*backend, *w.weight, some_rows(x, 4, 1, cols)) == some_rows(together, 4, 1, rows));
                CHECK(prefilled(*backend, *w.weight, some_rows(x, 5, 8, cols)) == some_rows(together, 5, 8, rows));
            }
        }
}

TEST_CASE("prefill is precise for activations of any size", "[quantised]")
{
    for (const auto& [on, exact] : every_cpu()) {
        const auto backend = on.open(1, exact);
        for (const DType type : block_types()) {
            Rows w(type);
            std::vector<float> plain = random_floats(w.random, 2 * cols);
            std::vector<float> tiny = plain, huge = plain;
            for (float& v : tiny)
                v *= 1e-28f;
            for (float& v : huge)
                v *= 1e28f;
            for (const std::vector<float>* x : {&plain, &tiny, &huge}) {
                INFO("on " << on << ", type " << info(type).name << ", exact " << exact << ", first activation "
                           << x->front());
                CHECK(error_of(*backend, *w.weight, *x) < on.product_error(type, Phase::Prefill, exact));
            }
            CHECK(prefilled(*backend, *w.weight, std::vector<float>(2 * cols)) == std::vector<float>(2 * rows));
        }
    }
}

TEST_CASE("in prefill, an outlier makes only its own group of 32 activations less precise", "[quantised]")
{
    constexpr size_t at = 300, group = at / 32 * 32;
    for (const auto& [on, exact] : every_cpu()) {
        const auto backend = on.open(1, exact);
        Rows w(DType::Q4_0);
        auto x = random_floats(w.random, cols);
        x[at] = 1000.0f;
        const double allowed = on.product_error(DType::Q4_0, Phase::Prefill, exact);
        INFO("on " << on << ", exact " << exact);
        CHECK(error_of(*backend, *w.weight, x) < allowed); // relative to the product, which the outlier enlarges
        w.clear_column(at);
        // Its neighbours are off by at most 1,000 * 1.54e-5, and the product by about 1.5e-3.
        const bool coarse = on.in_fixed_point(DType::Q4_0, Phase::Prefill, exact);
        CHECK(error_of(*backend, *w.weight, x) < (coarse ? 6e-3 : allowed));
        for (size_t i = group; i < group + 32; ++i)
            if (i != at) x[i] = 0.0f;
        CHECK(error_of(*backend, *w.weight, x) < allowed);
    }
}

TEST_CASE("in prefill, an activation that is not finite affects its own row only", "[quantised]")
{
    constexpr float infinity = std::numeric_limits<float>::infinity();
    for (const auto& [on, exact] : every_cpu()) {
        const auto backend = on.open(1, exact);
        for (const DType type : block_types())
            for (const float bad : {infinity, -infinity, std::numeric_limits<float>::quiet_NaN()}) {
                Rows w(type);
                auto x = random_floats(w.random, 3 * cols);
                const auto before = prefilled(*backend, *w.weight, x);
                x[cols + 700] = bad;
                const auto y = prefilled(*backend, *w.weight, x);
                const auto hit = some_rows(y, 1, 1, rows);
                INFO("on " << on << ", exact " << exact << ", type " << info(type).name << ", activation " << bad);
                CHECK(std::none_of(hit.begin(), hit.end(), [](float v) { return std::isfinite(v); }));
                for (const int64_t other : {0, 2})
                    CHECK(some_rows(y, other, 1, rows) == some_rows(before, other, 1, rows));
            }
    }
}
