// Decode with quantised weights on the CPU, whose kernels may convert activations to fixed-point numbers.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <vector>

#include "kernels/reference/reference_linear.h"
#include "tests/support/catch.h"
#include "tests/unit/kernels/quantised_rows.h"

using namespace palimpsest;
using namespace palimpsest::kernels;
using namespace palimpsest::kernels::test;

namespace {

std::vector<float> decoded(Backend& backend, const Weight& weight, const std::vector<float>& x)
{
    auto y = poisoned(rows);
    backend.linear(
        {.x = x.data(), .rows = 1, .norm = {}, .weight = &weight, .y = y.data(), .phase = Phase::Decode});
    return y;
}

double error_of(Backend& backend, const Weight& weight, const std::vector<float>& x)
{
    const auto expected =
        reference::linear({.x = x.data(), .rows = 1, .norm = {}, .weight = &weight, .phase = Phase::Decode});
    return largest_error(decoded(backend, weight, x), expected);
}

} // namespace

TEST_CASE("a decoded row of quantised weights has the same bits for every number of threads", "[quantised]")
{
    for (const TestBackend& on : every_backend()) {
        if (on.kind() != Kind::Cpu) continue;
        for (const DType type : block_types()) {
            Rows w(type);
            const auto x = random_floats(w.random, cols);
            for (const bool exact : {false, true}) {
                const auto alone = decoded(*on.open(1, exact), *w.weight, x);
                for (const int threads : {2, 3, 5}) {
                    INFO("on " << on << ", type " << info(type).name << ", " << threads << " threads, exact "
                               << exact);
                    CHECK(decoded(*on.open(threads, exact), *w.weight, x) == alone);
                }
            }
        }
    }
}

TEST_CASE("decode with activations of very different sizes is as precise as f32 sums", "[quantised]")
{
    for (const auto& [on, exact] : every_cpu()) {
        const auto backend = on.open(1, exact);
        for (const DType type : block_types()) {
            Rows w(type);
            const auto plain = random_floats(w.random, cols);
            auto outlier = plain, tiny = plain, huge = plain, powers = plain;
            outlier[300] = 2000.0f;
            for (float& v : tiny)
                v *= 1e-20f;
            for (float& v : huge)
                v *= 1e20f;
            for (size_t i = 0; i < powers.size(); ++i) // just below and above a power of two
                powers[i] = (i % 3 == 0 ? -1.0f : 1.0f) * (i % 2 == 0 ? 0x1.fffffep3f : 0x1.000002p4f);
            for (const auto* x : {&outlier, &tiny, &huge, &powers}) {
                INFO("on " << on << ", type " << info(type).name << ", exact " << exact << ", first activation "
                           << x->front());
                CHECK(error_of(*backend, *w.weight, *x) < on.product_error(type, Phase::Decode));
            }
            CHECK(decoded(*backend, *w.weight, std::vector<float>(cols)) == std::vector<float>(rows));
        }
    }
}

TEST_CASE("decode is precise for rows of any number of blocks", "[quantised]")
{
    for (const auto& [on, exact] : every_cpu()) {
        const auto backend = on.open(1, exact);
        for (const DType type : block_types())
            for (const int64_t width : {32, 64, 96, 128, 160, 224, 256, 288, 352, 416, 480, 576, 640, 896}) {
                if (info(type).block != small_block) continue;
                Rows w(type, width);
                const auto x = random_floats(w.random, width);
                INFO("on " << on << ", exact " << exact << ", type " << info(type).name << ", width " << width);
                CHECK(error_of(*backend, *w.weight, x) < on.product_error(type, Phase::Decode));
            }
    }
}

TEST_CASE("decode is precise for blocks with subnormal scales", "[quantised]")
{
    for (const auto& [on, exact] : every_cpu()) {
        const auto backend = on.open(1, exact);
        for (const DType type : block_types())
            for (const int64_t width : {int64_t{256}, cols}) {
                Rows w(type, width);
                w.make_scales_subnormal();
                const auto x = random_floats(w.random, width);
                INFO("on " << on << ", exact " << exact << ", type " << info(type).name << ", width " << width);
                CHECK(error_of(*backend, *w.weight, x) < on.product_error(type, Phase::Decode));
            }
    }
}

TEST_CASE("in decode, a very large activation does not make the others less precise", "[quantised]")
{
    for (const auto& [on, exact] : every_cpu()) {
        const auto backend = on.open(1, exact);
        Rows w(DType::Q4_0);
        const auto plain = random_floats(w.random, cols);
        for (const size_t at : {size_t{0}, size_t{300}, size_t{1023}}) {
            w.clear_column(at);
            for (const float size : {10.0f, 1e3f, 1e5f, -1e7f}) {
                auto x = plain;
                x[at] = size;
                INFO("on " << on << ", exact " << exact << ", element " << at << " is " << size);
                CHECK(error_of(*backend, *w.weight, x) < on.product_error(DType::Q4_0, Phase::Decode));
            }
        }
    }
}

// A row with an outlier is multiplied in f32 on every processor. The weights of the outlier are 0 here, so all
// products are f32 sums of the same numbers.
TEST_CASE("a decoded row with an outlier has the bits of exact products on every processor", "[quantised]")
{
    for (const TestBackend& on : every_backend()) {
        if (on.kind() != Kind::Cpu) continue;
        Rows w(DType::Q4_0);
        constexpr size_t at = 300;
        w.clear_column(at);
        auto x = random_floats(w.random, cols);
        x[at] = 0.0f;
        const auto exact = decoded(*on.open(1, true), *w.weight, x);
        x[at] = 1e6f;
        INFO("on " << on);
        CHECK(decoded(*on.open(1, false), *w.weight, x) == exact);
        CHECK(decoded(*on.open(1, true), *w.weight, x) == exact);
    }
}

TEST_CASE("decode of an activation that is not finite yields no finite product", "[quantised]")
{
    for (const auto& [on, exact] : every_cpu()) {
        const auto backend = on.open(1, exact);
        for (const DType type : block_types())
            for (const float bad : {std::numeric_limits<float>::infinity(), -std::numeric_limits<float>::infinity(),
                                    std::numeric_limits<float>::quiet_NaN()}) {
                Rows w(type);
                auto x = random_floats(w.random, cols);
                x[700] = bad;
                const auto y = decoded(*backend, *w.weight, x);
                INFO("on " << on << ", exact " << exact << ", type " << info(type).name << ", activation " << bad);
                CHECK(std::none_of(y.begin(), y.end(), [](float v) { return std::isfinite(v); }));
            }
    }
}
