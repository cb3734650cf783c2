// Decoded rows with quantised weights on the CPU, whose kernels may take activations as fixed-point numbers.

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "kernels/reference/reference_linear.h"
#include "tests/support/catch.h"
#include "tests/support/random_blocks.h"
#include "tests/unit/kernels/linear_case.h"

using namespace palimpsest;
using namespace palimpsest::kernels;
using namespace palimpsest::kernels::test;

namespace {

constexpr int64_t cols = 1024, rows = 37;

std::vector<DType> block_types()
{
    std::vector<DType> types;
    for (int i = 0; i < dtype_count; ++i)
        if (info(static_cast<DType>(i)).block > 1) types.push_back(static_cast<DType>(i));
    return types;
}

// Rows of one type in memory of their own.
struct Rows {
    Rows(DType type, unsigned from = seed) : random(from), bytes(tests::random_blocks(random, type, rows * cols))
    {
        const HostMatrix matrix{type, bytes.data(), rows, cols, 0};
        weight = cpu::load({&matrix, 1});
    }
    std::mt19937 random;
    std::vector<std::byte> bytes;
    std::unique_ptr<Weight> weight;
};

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
            const auto alone = decoded(*on.open(1), *w.weight, x);
            for (const int threads : {2, 3, 5}) {
                INFO("on " << on << ", type " << info(type).name << ", " << threads << " threads");
                CHECK(decoded(*on.open(threads), *w.weight, x) == alone);
            }
        }
    }
}

TEST_CASE("activations of very different sizes lose nothing that f32 sums keep", "[quantised]")
{
    for (const TestBackend& on : every_backend()) {
        if (on.kind() != Kind::Cpu) continue;
        const auto backend = on.open(1);
        for (const DType type : block_types()) {
            Rows w(type);
            const auto plain = random_floats(w.random, cols);
            auto outlier = plain, tiny = plain, huge = plain, powers = plain;
            outlier[300] = 2000.0f;
            for (float& v : tiny)
                v *= 1e-20f;
            for (float& v : huge)
                v *= 1e20f;
            for (size_t i = 0; i < powers.size(); ++i) // just above and below a power of two
                powers[i] = (i % 3 == 0 ? -1.0f : 1.0f) * (i % 2 == 0 ? 0x1.fffffep3f : 0x1.000002p4f);
            for (const auto* x : {&outlier, &tiny, &huge, &powers}) {
                INFO("on " << on << ", type " << info(type).name << ", first activation " << x->front());
                CHECK(error_of(*backend, *w.weight, *x) < on.product_error(type, Phase::Decode));
            }
            CHECK(decoded(*backend, *w.weight, std::vector<float>(cols)) == std::vector<float>(rows));
        }
    }
}

// The weight of the outlier is 0 in every row: nothing of it is in the products, and the others must keep their
// bits.
TEST_CASE("an activation that outweighs all others takes no bits from them", "[quantised]")
{
    for (const TestBackend& on : every_backend()) {
        if (on.kind() != Kind::Cpu) continue;
        const auto backend = on.open(1);
        Rows w(DType::Q4_0);
        const auto plain = random_floats(w.random, cols);
        for (const size_t at : {size_t{0}, size_t{300}, size_t{1023}}) {
            for (int64_t row = 0; row < rows; ++row) { // code 8 is a weight of 0
                const size_t block = (static_cast<size_t>(row) * cols + at) / 32, within = at % 32;
                std::byte& codes = w.bytes[block * 18 + 2 + within % 16];
                codes = within < 16 ? (codes & std::byte{0xF0}) | std::byte{0x08}
                                    : (codes & std::byte{0x0F}) | std::byte{0x80};
            }
            for (const float size : {10.0f, 1e3f, 1e5f, -1e7f}) {
                auto x = plain;
                x[at] = size;
                INFO("on " << on << ", element " << at << " is " << size);
                CHECK(error_of(*backend, *w.weight, x) < on.product_error(DType::Q4_0, Phase::Decode));
            }
        }
    }
}

TEST_CASE("an activation that is not finite makes no finite product", "[quantised]")
{
    for (const TestBackend& on : every_backend()) {
        if (on.kind() != Kind::Cpu) continue;
        const auto backend = on.open(1);
        for (const DType type : block_types())
            for (const float bad : {std::numeric_limits<float>::infinity(), -std::numeric_limits<float>::infinity(),
                                    std::numeric_limits<float>::quiet_NaN()}) {
                Rows w(type);
                auto x = random_floats(w.random, cols);
                x[700] = bad;
                const auto y = decoded(*backend, *w.weight, x);
                INFO("on " << on << ", type " << info(type).name << ", activation " << bad);
                CHECK(std::none_of(y.begin(), y.end(), [](float v) { return std::isfinite(v); }));
            }
    }
}
