// linear, feed_forward, embed and the norm compared with plain float64 loops, over types, shapes, phases and
// backends.

#include <numeric>
#include <string>

#include "kernels/base/error.h"
#include "kernels/reference/reference_linear.h"
#include "tests/unit/kernels/linear_case.h"

using namespace palimpsest;
using namespace palimpsest::kernels;
using namespace palimpsest::kernels::test;

namespace {

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

// The emulator, and at the CI level every backend, tests each switch in each phase, but not every combination of
// switches.
std::vector<Variant> variants(const TestBackend& on)
{
    if (!on.emulated() && !at_ci_level()) return variants();
    return {{true, true, false, Phase::Prefill},
            {false, false, true, Phase::Prefill},
            {true, true, true, Phase::Decode},
            {false, false, false, Phase::Decode}};
}

void check_linear(const TestBackend& on, Backend& backend, const Weights& weights, int64_t rows, const Variant& v)
{
    std::mt19937 random(seed);
    const int64_t cols = weights.plain->cols(), rows_out = weights.plain->rows();
    const auto x = random_floats(random, rows * cols);
    const auto norm = random_floats(random, cols);
    const auto bias = random_floats(random, rows_out);
    auto y = v.accumulate ? random_floats(random, rows * rows_out) : poisoned(rows * rows_out);
    const LinearArgs args{.x = x.data(),
                          .rows = rows,
                          .norm = {v.norm ? norm.data() : nullptr, 1e-5f},
                          .weight = weights.plain.get(),
                          .bias = v.bias ? bias.data() : nullptr,
                          .y = y.data(),
                          .accumulate = v.accumulate,
                          .phase = v.phase};
    const auto expected = reference::linear(args);
    const auto got = linear_on(backend, args, *weights.placed, v.bias ? 1 : 0);
    INFO("rows " << rows << ", " << cols << " -> " << rows_out << ", norm " << v.norm << ", bias " << v.bias
                 << ", accumulate " << v.accumulate << ", phase " << static_cast<int>(v.phase) << ", on " << on
                 << ", seed " << seed);
    CHECK(largest_error(got, expected) < on.product_error(weights.type, v.phase));
}

// Computes rows `first` to `first` + `rows` of the product; x is entirely in backend memory.
std::vector<float> product_of(Backend& backend, const Weight& weight, const Buffer& x, int64_t first, int64_t rows,
                              const Buffer& norm, Phase phase)
{
    const Buffer y = to_device(backend, poisoned(rows * weight.rows()));
    backend.linear({.x = x.data<float>() + first * weight.cols(),
                    .rows = rows,
                    .norm = {norm.data<float>(), 1e-5f},
                    .weight = &weight,
                    .bias = nullptr,
                    .y = y.data<float>(),
                    .accumulate = false,
                    .phase = phase});
    return to_host<float>(backend, y, static_cast<size_t>(rows * weight.rows()));
}

std::vector<float> embedded(Backend& backend, const Weight& table, const std::vector<int32_t>& ids)
{
    const int64_t floats = static_cast<int64_t>(ids.size()) * table.cols();
    const Buffer y = to_device(backend, poisoned(floats));
    backend.embed({.table = &table, .ids = ids, .y = y.data<float>()});
    return to_host<float>(backend, y, static_cast<size_t>(floats));
}

// A product with enough columns that prefill with one or two threads uses wide blocks (from 1024 columns per thread
// on, kernels/cpu/gemm_blocks.h), and with three threads narrow ones. With both widths, the last block and its last
// tile are partial; the depth exceeds one block.
class WideProduct {
public:
    explicit WideProduct(DType type)
        : random_(seed), cols_(info(type).block > 32  ? 512
                               : info(type).block > 1 ? 320
                                                      : 300),
          stored_(random_, type, columns, cols_), x_(random_floats(random_, rows * cols_)),
          bias_(random_floats(random_, columns)), before_(random_floats(random_, rows * columns))
    {
        const auto weight = cpu::load({&stored_.matrix, 1});
        product_ = reference::linear(args(*weight));
    }

    std::vector<double> expected(bool with_bias, bool accumulate) const
    {
        std::vector<double> y = product_;
        for (size_t i = 0; i < y.size(); ++i) {
            if (with_bias) y[i] += static_cast<double>(bias_[i % bias_.size()]);
            if (accumulate) y[i] += static_cast<double>(before_[i]);
        }
        return y;
    }

    std::vector<float> computed(Backend& backend, bool with_bias, bool accumulate) const
    {
        const auto weight = backend.load({&stored_.matrix, 1});
        auto y = accumulate ? before_ : poisoned(rows * columns);
        LinearArgs call = args(*weight);
        call.bias = with_bias ? bias_.data() : nullptr;
        call.y = y.data();
        call.accumulate = accumulate;
        return linear_on(backend, call, *weight, with_bias ? 1 : 0);
    }

private:
    static constexpr int64_t rows = 29, columns = 2101;

    LinearArgs args(const Weight& weight) const
    {
        return {.x = x_.data(),
                .rows = rows,
                .norm = {},
                .weight = &weight,
                .bias = nullptr,
                .y = nullptr,
                .accumulate = false,
                .phase = Phase::Prefill};
    }

    std::mt19937 random_;
    int64_t cols_;
    Stored stored_;
    std::vector<float> x_, bias_, before_;
    std::vector<double> product_; // float64, without bias
};

} // namespace

TEST_CASE("linear agrees with float64 for every type, shape, phase and backend", "[linear]")
{
    for (const TestBackend& on : every_backend()) {
        const auto backend = on.open();
        std::mt19937 random(seed);
        for (const DType type : all_types) {
            // Widths below, at and across the block depth of 256; heights that end inside a tile and inside a
            // block. Above 4096 columns, decode multiplies several rows of weights at once.
            std::vector<std::pair<int64_t, int64_t>> shapes{{1, 32}, {37, 96}, {150, 288}, {64, 1056}, {27, 4160}};
            if (on.emulated()) shapes = {{1, 32}, {37, 96}, {150, 288}};
            if (type != DType::Q8_0 && on.emulated())
                shapes.insert(shapes.end(), {{5, 1}, {33, 33}, {9, 300}});
            else if (type != DType::Q8_0)
                shapes.insert(shapes.end(), {{5, 1}, {33, 33}, {129, 300}, {40, 48}, {9, 4111}});
            for (const auto& [rows_out, cols] : shapes) {
                const Stored stored(random, type, rows_out, cols);
                const Weights weights(*backend, {&stored});
                INFO("type " << info(type).name);
                for (const Variant& v : variants(on))
                    check_linear(on, *backend, weights, 3, v);
                check_linear(on, *backend, weights, 29, {true, false, false, Phase::Prefill});
            }
        }
    }
}

TEST_CASE("a weight of parts of several types, with rotary rows in pairs, agrees with float64", "[linear]")
{
    for (const TestBackend& on : every_backend()) {
        const auto backend = on.open();
        std::mt19937 random(seed);
        const Stored q(random, DType::Q8_0, 48, 64, 16), k(random, DType::F16, 32, 64, 16),
            v(random, DType::F32, 19, 64);
        const Weights weights(*backend, {&q, &k, &v});
        REQUIRE(weights.placed->rows() == 99);
        REQUIRE(weights.placed->bytes() == 48 * 68 + 32 * 128 + 19 * 256);
        for (const Variant& variant : variants(on))
            check_linear(on, *backend, weights, 5, variant);
    }
}

TEST_CASE("row h*d+j of paired heads is stored at h*d+2j, or at h*d+2(j-d/2)+1 if j >= d/2", "[linear]")
{
    std::vector<float> rows(16); // one column; the value is the number of the stored row
    for (size_t i = 0; i < rows.size(); ++i)
        rows[i] = static_cast<float>(i);
    const HostMatrix matrix{DType::F32, reinterpret_cast<const std::byte*>(rows.data()), 16, 1, 8};
    const std::vector<float> expected{0, 2, 4, 6, 1, 3, 5, 7, 8, 10, 12, 14, 9, 11, 13, 15};
    std::vector<int32_t> ids(16);
    std::iota(ids.begin(), ids.end(), 0);
    for (const TestBackend& on : every_backend()) {
        INFO("on " << on);
        const auto backend = on.open();
        const auto weight = backend->load({&matrix, 1});
        const Buffer one = to_device(*backend, std::vector<float>{1});
        for (const Phase phase : {Phase::Prefill, Phase::Decode})
            CHECK(product_of(*backend, *weight, one, 0, 1, {}, phase) == expected);
        CHECK(embedded(*backend, *weight, ids) == expected);
    }
}

TEST_CASE("the bits of a prefill row depend on neither other rows nor threads", "[linear]")
{
    for (const TestBackend& on : every_backend()) {
        std::mt19937 random(seed);
        const Stored a(random, DType::Q8_0, on.emulated() ? 40 : 140, 544), b(random, DType::BF16, 61, 544);
        const auto x = random_floats(random, 128 * 544), norm = random_floats(random, 544);
        std::vector<float> whole;
        std::vector<int> threads{1, 2, 3};
        if (on.kind() != Kind::Cpu) threads = {1};
        for (const int thread_count : threads) {
            const auto backend = on.open(thread_count);
            const Weights weights(*backend, {&a, &b});
            const auto width = weights.plain->rows();
            const Buffer input = to_device(*backend, x), norm_weight = to_device(*backend, norm);
            const auto prefill = [&](int64_t first, int64_t rows) {
                return product_of(*backend, *weights.placed, input, first, rows, norm_weight, Phase::Prefill);
            };
            if (whole.empty()) whole = prefill(0, 128);
            for (const int64_t rows : {1, 2, 5, 6, 7, 13, 14, 15, 37, 128})
                for (const int64_t first : {int64_t{0}, (128 - rows) / 2, 128 - rows}) {
                    if (on.emulated() && rows != 1 && rows != 7 && rows != 37) continue;
                    const auto slice = prefill(first, rows);
                    INFO("on " << on << ", threads " << thread_count << ", rows " << rows << " from " << first);
                    CHECK(std::equal(slice.begin(), slice.end(), whole.begin() + first * width));
                }
        }
    }
}

TEST_CASE("products with wide and with narrow blocks of columns agree with float64 and have the same bits",
          "[linear]")
{
    const std::vector<TestBackend> backends = every_backend();
    size_t index = 0;
    for (const DType type : {DType::F32, DType::F16, DType::Q8_0, DType::Q5_0, DType::Q4_K, DType::Q6_K}) {
        const WideProduct product(type);
        for (int bits = 0; bits < 4; ++bits, ++index) {
            const bool with_bias = (bits & 1) != 0, accumulate = (bits & 2) != 0;
            const auto expected = product.expected(with_bias, accumulate);
            for (const TestBackend& on : backends) {
                if (on.kind() != Kind::Cpu || !takes(on, index)) continue;
                std::vector<float> one_thread;
                for (const int threads : {1, 2, 3}) {
                    const auto got = product.computed(*on.open(threads), with_bias, accumulate);
                    INFO("on " << on << ", threads " << threads << ", type " << info(type).name << ", bias "
                               << with_bias << ", accumulate " << accumulate << ", seed " << seed);
                    CHECK(largest_error(got, expected) < on.product_error(type, Phase::Prefill));
                    if (one_thread.empty()) one_thread = got;
                    CHECK(std::equal(got.begin(), got.end(), one_thread.begin(), one_thread.end()));
                }
            }
        }
    }
}

TEST_CASE("the bits of a decoded row depend on neither other rows nor threads", "[linear]")
{
    for (const TestBackend& on : every_backend()) {
        for (const DType type : all_types) {
            std::mt19937 random(seed);
            const Stored stored(random, type, on.emulated() ? 65 : 333, 544);
            const auto x = random_floats(random, 4 * 544);
            std::vector<float> one_thread;
            std::vector<int> threads{1, 2, 3, 5};
            if (on.kind() != Kind::Cpu) threads = {1};
            for (const int thread_count : threads) {
                const auto backend = on.open(thread_count);
                const Weights weights(*backend, {&stored});
                const Buffer input = to_device(*backend, x);
                const auto decode = [&](int64_t first, int64_t rows) {
                    return product_of(*backend, *weights.placed, input, first, rows, {}, Phase::Decode);
                };
                const auto together = decode(0, 4);
                std::vector<float> apart;
                for (int64_t r = 0; r < 4; ++r) {
                    const auto row = decode(r, 1);
                    apart.insert(apart.end(), row.begin(), row.end());
                }
                INFO("on " << on << ", threads " << thread_count << ", type " << info(type).name);
                CHECK(together == apart);
                if (one_thread.empty()) one_thread = together;
                CHECK(together == one_thread);
            }
        }
    }
}

TEST_CASE("feed_forward agrees with float64", "[linear]")
{
    for (const TestBackend& on : every_backend()) {
        const auto backend = on.open();
        std::mt19937 random(seed);
        for (const DType type : all_types) {
            const int64_t dim = 96, hidden = on.emulated() ? 160 : 352;
            const Stored gate(random, type, hidden, dim), up(random, DType::F32, hidden, dim),
                same_up(random, type, hidden, dim), down(random, type, dim, hidden);
            const Weights mixed(*backend, {&gate, &up}), alike(*backend, {&gate, &same_up}),
                down_weights(*backend, {&down});
            const auto norm = random_floats(random, dim);
            for (const Weights* gate_up : {&mixed, &alike})
                for (const Phase phase : {Phase::Prefill, Phase::Decode})
                    for (const int64_t rows : {1, 17}) {
                        if (on.emulated() && phase == Phase::Decode && rows > 1) continue;
                        auto x = random_floats(random, rows * dim);
                        const FeedForwardArgs args{.x = x.data(),
                                                   .rows = rows,
                                                   .norm = {norm.data(), 1e-6f},
                                                   .gate_up = gate_up->plain.get(),
                                                   .down = down_weights.plain.get(),
                                                   .phase = phase};
                        const auto expected = reference::feed_forward(args);
                        const auto got = feed_forward_on(*backend, args, *gate_up->placed, *down_weights.placed);
                        INFO("on " << on << ", type " << info(type).name << ", rows " << rows << ", phase "
                                   << static_cast<int>(phase) << ", seed " << seed);
                        CHECK(largest_error(got, expected) < on.product_error(type, phase));
                    }
        }
    }
}

TEST_CASE("the SiLU gate is accurate far from zero", "[linear]")
{
    // With unit weights, x += silu(x) * x: silu(-200) must be 0, not NaN, and silu(200) 200.
    const float ones[] = {1, 1};
    const HostMatrix gate_up{DType::F32, reinterpret_cast<const std::byte*>(ones), 2, 1, 0};
    const HostMatrix down{DType::F32, reinterpret_cast<const std::byte*>(ones), 1, 1, 0};
    for (const TestBackend& on : every_backend()) {
        const auto backend = on.open(1);
        const auto gate_up_weight = backend->load({&gate_up, 1}), down_weight = backend->load({&down, 1});
        for (const Phase phase : {Phase::Prefill, Phase::Decode})
            for (float x : {-200.0f, -88.5f, 0.0f, 1.0f, 88.5f, 200.0f}) {
                INFO("on " << on << ", x " << x << ", phase " << static_cast<int>(phase));
                const FeedForwardArgs args{.x = &x, .rows = 1, .norm = {}, .phase = phase};
                const auto got = feed_forward_on(*backend, args, *gate_up_weight, *down_weight);
                const double s = static_cast<double>(x);
                CHECK(static_cast<double>(got[0]) == Approx(s + s / (1 + std::exp(-s)) * s).epsilon(1e-6));
            }
    }
}

TEST_CASE("embed returns the rows of the ids as f32", "[linear]")
{
    for (const TestBackend& on : every_backend()) {
        const auto backend = on.open();
        std::mt19937 random(seed);
        for (const DType type : all_types) {
            INFO("on " << on << ", type " << info(type).name);
            const Stored stored(random, type, 50, 64);
            const Weights table(*backend, {&stored});
            const std::vector<int32_t> ids{49, 0, 7, 7, 23};
            const auto y = embedded(*backend, *table.placed, ids);
            const auto expected = reference::embed({.table = table.plain.get(), .ids = ids, .y = nullptr});
            CHECK(std::equal(y.begin(), y.end(), expected.begin(), expected.end(),
                             [](float a, double b) { return static_cast<double>(a) == b; }));
        }
    }
}

TEST_CASE("weights with parts of different widths, odd pairs or partial blocks are refused", "[linear]")
{
    for (const TestBackend& on : every_backend()) {
        INFO("on " << on);
        const auto backend = on.open(1);
        std::mt19937 random(seed);
        const Stored a(random, DType::F32, 4, 32), b(random, DType::F32, 4, 64);
        const std::vector<HostMatrix> both{a.matrix, b.matrix};
        CHECK_THROWS_AS(backend->load(both), Error);
        CHECK_THROWS_AS(backend->load({}), Error);
        HostMatrix odd = a.matrix;
        odd.paired_head_dim = 3;
        CHECK_THROWS_AS(backend->load({&odd, 1}), Error);
        HostMatrix ragged = a.matrix;
        ragged.type = DType::Q8_0;
        ragged.cols = 33;
        CHECK_THROWS_AS(backend->load({&ragged, 1}), Error);
    }
}

#ifdef PALIMPSEST_EMULATED_CUDA
TEST_CASE("products do not depend on the order in which threads and blocks run", "[linear]")
{
    const auto backend = tests::open_emulated_cuda(90);
    std::mt19937 random(seed);
    for (const DType type : all_types) {
        const Stored a(random, type, 70, 160), b(random, DType::F32, 9, 160);
        const Weights weights(*backend, {&a, &b});
        const Buffer x = to_device(*backend, random_floats(random, 19 * 160));
        const Buffer norm = to_device(*backend, random_floats(random, 160));
        for (const Phase phase : {Phase::Prefill, Phase::Decode}) {
            const int64_t rows = phase == Phase::Prefill ? 19 : 2;
            const auto ascending = product_of(*backend, *weights.placed, x, 0, rows, norm, phase);
            const tests::DescendingOrder order;
            INFO("type " << info(type).name << ", phase " << static_cast<int>(phase));
            CHECK(product_of(*backend, *weights.placed, x, 0, rows, norm, phase) == ascending);
        }
    }
}
#endif
