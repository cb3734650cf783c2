// linear, feed_forward, embed and the norm against plain float64 loops, over types, shapes, phases and SIMD
// targets.

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "kernels/backend.h"
#include "kernels/base/error.h"
#include "kernels/cpu/simd_target.h"
#include "kernels/reference/reference_linear.h"
#include "tests/support/catch.h"

using namespace palimpsest;
using namespace palimpsest::kernels;

namespace {

constexpr DType all_types[] = {DType::F32, DType::F16, DType::BF16, DType::Q8_0};
constexpr unsigned seed = 20240607;

std::vector<float> random_floats(std::mt19937& random, int64_t count, float size = 1.0f)
{
    std::normal_distribution<float> normal(0.0f, size);
    std::vector<float> values(static_cast<size_t>(count));
    for (float& v : values)
        v = normal(random);
    return values;
}

// Rows of random weights as a file would hold them.
struct Stored {
    Stored(std::mt19937& random, DType type, int64_t rows, int64_t cols, int32_t paired = 0)
        : matrix{type, nullptr, rows, cols, paired}, bytes(static_cast<size_t>(rows * row_bytes(type, cols)))
    {
        if (type == DType::Q8_0) {
            std::uniform_int_distribution<int> q(-127, 127);
            for (size_t at = 0; at < bytes.size(); at += sizeof(BlockQ8_0)) {
                BlockQ8_0 block;
                block.scale = f32_to_f16(0.001f * static_cast<float>(1 + q(random) * q(random) % 100));
                for (int8_t& v : block.q)
                    v = static_cast<int8_t>(q(random));
                std::memcpy(bytes.data() + at, &block, sizeof block);
            }
        } else {
            const auto values = random_floats(random, rows * cols, 0.1f);
            from_f32(type, values.data(), bytes.data(), rows * cols);
        }
        matrix.data = bytes.data();
    }
    HostMatrix matrix;
    std::vector<std::byte> bytes;
};

std::unique_ptr<Weight> load(Backend& backend, std::initializer_list<const Stored*> parts)
{
    std::vector<HostMatrix> matrices;
    for (const Stored* part : parts)
        matrices.push_back(part->matrix);
    return backend.load(matrices);
}

std::unique_ptr<Backend> cpu(int threads = 2, const std::string& simd = "")
{
    return open_backend({.device = "cpu", .threads = threads, .simd = simd});
}

// |got - expected| over the size of the expected row: f32 sums of some thousand terms stay well below 1e-6.
double largest_error(const std::vector<float>& got, const std::vector<double>& expected)
{
    REQUIRE(got.size() == expected.size());
    double squares = 0, worst = 0;
    for (size_t i = 0; i < got.size(); ++i) {
        squares += expected[i] * expected[i];
        const double error = std::abs(static_cast<double>(got[i]) - expected[i]);
        worst = std::isnan(error) ? std::numeric_limits<double>::infinity() : std::max(worst, error);
    }
    return worst / std::sqrt(squares / static_cast<double>(got.size()));
}

// f32 rounding of sums of up to a few thousand terms; without lanes to share them, one sum takes them all.
double tolerance(std::string_view target)
{
    return target == "SCALAR" ? 1.2e-5 : 4e-6;
}

std::vector<float> poisoned(int64_t count)
{
    return std::vector<float>(static_cast<size_t>(count), std::numeric_limits<float>::quiet_NaN());
}

struct Variant {
    bool norm, bias, accumulate;
    Phase phase;
};

std::vector<Variant> variants()
{
    std::vector<Variant> all;
    for (const Phase phase : {Phase::Prefill, Phase::Decode})
        for (int bits = 0; bits < 8; ++bits)
            all.push_back({(bits & 1) != 0, (bits & 2) != 0, (bits & 4) != 0, phase});
    return all;
}

void check_linear(Backend& backend, const Weight& weight, int64_t rows, const Variant& v)
{
    std::mt19937 random(seed);
    const auto x = random_floats(random, rows * weight.cols());
    const auto norm = random_floats(random, weight.cols());
    const auto bias = random_floats(random, weight.rows());
    auto y = v.accumulate ? random_floats(random, rows * weight.rows()) : poisoned(rows * weight.rows());
    const LinearArgs args{.x = x.data(),
                          .rows = rows,
                          .norm = {v.norm ? norm.data() : nullptr, 1e-5f},
                          .weight = &weight,
                          .bias = v.bias ? bias.data() : nullptr,
                          .y = y.data(),
                          .accumulate = v.accumulate,
                          .phase = v.phase};
    const auto expected = reference::linear(args);
    backend.linear(args);
    INFO("rows " << rows << ", " << weight.cols() << " -> " << weight.rows() << ", norm " << v.norm << ", bias "
                 << v.bias << ", accumulate " << v.accumulate << ", phase " << static_cast<int>(v.phase)
                 << ", target " << backend.simd_target() << ", seed " << seed);
    CHECK(largest_error(y, expected) < tolerance(backend.simd_target()));
}

std::vector<float> prefill(Backend& backend, const Weight& weight, const std::vector<float>& x, int64_t first,
                           int64_t rows, const float* norm)
{
    auto y = poisoned(rows * weight.rows());
    backend.linear({.x = x.data() + first * weight.cols(),
                    .rows = rows,
                    .norm = {norm, 1e-5f},
                    .weight = &weight,
                    .bias = nullptr,
                    .y = y.data(),
                    .accumulate = false,
                    .phase = Phase::Prefill});
    return y;
}

} // namespace

TEST_CASE("linear agrees with float64 for every type, shape, phase and target", "[linear]")
{
    for (const auto& target : simd_targets()) {
        const auto backend = cpu(2, target);
        std::mt19937 random(seed);
        for (const DType type : all_types) {
            // Widths below, at and across the block depth of 256; heights that end inside a tile and inside a
            // block. Above 4096, decode takes rows abreast.
            std::vector<std::pair<int64_t, int64_t>> shapes{{1, 32}, {37, 96}, {150, 288}, {64, 1056}, {27, 4160}};
            if (type != DType::Q8_0)
                shapes.insert(shapes.end(), {{5, 1}, {33, 33}, {129, 300}, {40, 48}, {9, 4111}});
            for (const auto& [rows_out, cols] : shapes) {
                const Stored stored(random, type, rows_out, cols);
                const auto weight = load(*backend, {&stored});
                INFO("type " << info(type).name);
                for (const Variant& v : variants())
                    check_linear(*backend, *weight, 3, v);
                check_linear(*backend, *weight, 29, {true, false, false, Phase::Prefill});
            }
        }
    }
}

TEST_CASE("a concatenation of types, with rotary rows stored in pairs, reads as its parts", "[linear]")
{
    for (const auto& target : simd_targets()) {
        const auto backend = cpu(2, target);
        std::mt19937 random(seed);
        const Stored q(random, DType::Q8_0, 48, 64, 16), k(random, DType::F16, 32, 64, 16),
            v(random, DType::F32, 19, 64);
        const auto weight = load(*backend, {&q, &k, &v});
        REQUIRE(weight->rows() == 99);
        REQUIRE(weight->bytes() == 48 * 68 + 32 * 128 + 19 * 256);
        for (const Variant& variant : variants())
            check_linear(*backend, *weight, 5, variant);
    }
}

TEST_CASE("row h*d+j of paired heads is stored at h*d+2j, or 2(j-d/2)+1 in the upper half", "[linear]")
{
    const auto backend = cpu();
    std::vector<float> rows(16); // one column; the value is the stored row
    for (size_t i = 0; i < rows.size(); ++i)
        rows[i] = static_cast<float>(i);
    const HostMatrix matrix{DType::F32, reinterpret_cast<const std::byte*>(rows.data()), 16, 1, 8};
    const auto weight = backend->load({&matrix, 1});
    const std::vector<float> expected{0, 2, 4, 6, 1, 3, 5, 7, 8, 10, 12, 14, 9, 11, 13, 15};
    const float one = 1;
    for (const Phase phase : {Phase::Prefill, Phase::Decode}) {
        auto y = poisoned(16);
        backend->linear({.x = &one,
                         .rows = 1,
                         .norm = {},
                         .weight = weight.get(),
                         .bias = nullptr,
                         .y = y.data(),
                         .accumulate = false,
                         .phase = phase});
        CHECK(y == expected);
    }
    std::vector<int32_t> ids(16);
    for (int32_t i = 0; i < 16; ++i)
        ids[static_cast<size_t>(i)] = i;
    auto y = poisoned(16);
    backend->embed({.table = weight.get(), .ids = ids, .y = y.data()});
    CHECK(y == expected);
}

TEST_CASE("a prefill row has the same bits whatever rows and threads come with it", "[linear]")
{
    for (const auto& target : simd_targets()) {
        std::mt19937 random(seed);
        const Stored a(random, DType::Q8_0, 140, 544), b(random, DType::BF16, 61, 544);
        const auto x = random_floats(random, 128 * 544);
        const auto norm = random_floats(random, 544);
        const auto whole_backend = cpu(1, target);
        const auto whole_weight = load(*whole_backend, {&a, &b});
        const auto whole = prefill(*whole_backend, *whole_weight, x, 0, 128, norm.data());
        for (const int threads : {1, 2, 3}) {
            const auto backend = cpu(threads, target);
            const auto weight = load(*backend, {&a, &b});
            for (const int64_t rows : {1, 2, 5, 6, 7, 13, 14, 15, 37, 128})
                for (const int64_t first : {int64_t{0}, (128 - rows) / 2, 128 - rows}) {
                    const auto slice = prefill(*backend, *weight, x, first, rows, norm.data());
                    INFO(target << ", threads " << threads << ", rows " << rows << " from " << first);
                    CHECK(std::equal(slice.begin(), slice.end(), whole.begin() + first * 201));
                }
        }
    }
}

TEST_CASE("decode has the same bits for every number of threads and rows", "[linear]")
{
    for (const DType type : all_types) {
        std::mt19937 random(seed);
        const Stored stored(random, type, 333, 544);
        const auto x = random_floats(random, 4 * 544);
        std::vector<float> one_thread;
        for (const int threads : {1, 2, 3, 5}) {
            const auto backend = cpu(threads);
            const auto weight = load(*backend, {&stored});
            auto together = poisoned(4 * 333), apart = together;
            LinearArgs args{.x = x.data(),
                            .rows = 4,
                            .norm = {},
                            .weight = weight.get(),
                            .bias = nullptr,
                            .y = together.data(),
                            .accumulate = false,
                            .phase = Phase::Decode};
            backend->linear(args);
            for (int r = 0; r < 4; ++r) {
                args.x = x.data() + r * 544;
                args.y = apart.data() + r * 333;
                args.rows = 1;
                backend->linear(args);
            }
            CHECK(together == apart);
            if (threads == 1) one_thread = together;
            CHECK(together == one_thread);
        }
    }
}

TEST_CASE("feed_forward agrees with float64", "[linear]")
{
    for (const auto& target : simd_targets()) {
        const auto backend = cpu(2, target);
        std::mt19937 random(seed);
        for (const DType type : all_types) {
            const Stored gate(random, type, 352, 96), up(random, DType::F32, 352, 96), down(random, type, 96, 352);
            const auto gate_up = load(*backend, {&gate, &up});
            const auto down_weight = load(*backend, {&down});
            const auto norm = random_floats(random, 96);
            for (const Phase phase : {Phase::Prefill, Phase::Decode})
                for (const int64_t rows : {1, 17}) {
                    auto x = random_floats(random, rows * 96);
                    const FeedForwardArgs args{.x = x.data(),
                                               .rows = rows,
                                               .norm = {norm.data(), 1e-6f},
                                               .gate_up = gate_up.get(),
                                               .down = down_weight.get(),
                                               .phase = phase};
                    const auto expected = reference::feed_forward(args);
                    backend->feed_forward(args);
                    INFO(target << ", type " << info(type).name << ", rows " << rows << ", seed " << seed);
                    CHECK(largest_error(x, expected) < tolerance(target));
                }
        }
    }
}

TEST_CASE("the gate is right far from zero", "[linear]")
{
    // With unit weights, x += silu(x) * x: silu(-200) must be 0, not NaN, and silu(200) 200.
    const auto backend = cpu(1);
    const float ones[] = {1, 1};
    const HostMatrix gate_up{DType::F32, reinterpret_cast<const std::byte*>(ones), 2, 1, 0};
    const HostMatrix down{DType::F32, reinterpret_cast<const std::byte*>(ones), 1, 1, 0};
    const auto gate_up_weight = backend->load({&gate_up, 1}), down_weight = backend->load({&down, 1});
    for (const float start : {-200.0f, -88.5f, 0.0f, 1.0f, 88.5f, 200.0f}) {
        float x = start;
        backend->feed_forward({.x = &x,
                               .rows = 1,
                               .norm = {},
                               .gate_up = gate_up_weight.get(),
                               .down = down_weight.get(),
                               .phase = Phase::Decode});
        const double s = static_cast<double>(start);
        CHECK(static_cast<double>(x) == Approx(s + s / (1 + std::exp(-s)) * s).epsilon(1e-6));
    }
}

TEST_CASE("embed widens the rows asked for", "[linear]")
{
    const auto backend = cpu();
    std::mt19937 random(seed);
    for (const DType type : all_types) {
        const Stored stored(random, type, 50, 64);
        const auto table = load(*backend, {&stored});
        const std::vector<int32_t> ids{49, 0, 7, 7, 23};
        auto y = poisoned(5 * 64);
        const EmbedArgs args{.table = table.get(), .ids = ids, .y = y.data()};
        backend->embed(args);
        const auto expected = reference::embed(args);
        CHECK(std::equal(y.begin(), y.end(), expected.begin(), expected.end(),
                         [](float a, double b) { return static_cast<double>(a) == b; }));
    }
}

TEST_CASE("parts that do not fit together are refused", "[linear]")
{
    const auto backend = cpu(1);
    std::mt19937 random(seed);
    const Stored a(random, DType::F32, 4, 32), b(random, DType::F32, 4, 64);
    CHECK_THROWS_AS(load(*backend, {&a, &b}), Error);
    CHECK_THROWS_AS(backend->load({}), Error);
    HostMatrix odd = a.matrix;
    odd.paired_head_dim = 3;
    CHECK_THROWS_AS(backend->load({&odd, 1}), Error);
    HostMatrix ragged = a.matrix;
    ragged.type = DType::Q8_0;
    ragged.cols = 33;
    CHECK_THROWS_AS(backend->load({&ragged, 1}), Error);
}
