// The finish of a product's rows (norm, factor, soft cap), activations other than SiLU, and the factor of
// embeddings.

#include <numbers>
#include <numeric>
#include <ostream>

#include "kernels/reference/reference_linear.h"
#include "tests/unit/kernels/linear_case.h"

namespace palimpsest::kernels::test {
namespace {

struct Finish {
    bool norm = false;
    float factor = 1.0f, soft_cap = 0.0f;

    // `size`: root mean square of the product before the finish; the soft cap is relative to it.
    RowFinish with(const std::vector<float>& weight, double size) const
    {
        const double capped = (norm ? 1.0 : size) * std::abs(static_cast<double>(factor));
        return {.norm = {norm ? weight.data() : nullptr, 1e-6f},
                .factor = factor,
                .soft_cap = static_cast<float>(static_cast<double>(soft_cap) * capped)};
    }
};

double size_of(const std::vector<double>& x)
{
    return std::sqrt(std::inner_product(x.begin(), x.end(), x.begin(), 0.0) / static_cast<double>(x.size()));
}

std::ostream& operator<<(std::ostream& out, const Finish& f)
{
    return out << "norm " << f.norm << ", factor " << f.factor << ", soft cap " << f.soft_cap;
}

// Soft caps are relative to the values that they cap, so that both the linear and the flat part of tanh are tested.
std::vector<Finish> finishes(const TestBackend& on)
{
    if (on.emulated()) return {{true}, {false, 0.22f}, {false, 1.0f, 0.7f}, {true, 0.7f, 1.5f}};
    return {{true}, {false, 0.22f}, {false, 1.0f, 0.7f}, {true, -1.7f}, {false, 12.0f, 2.5f}, {true, 0.7f, 1.5f}};
}

// A soft cap shrinks large values, to which errors are relative, but not the errors of small values; the factor 4
// allows for that.
double finished_error(const TestBackend& on, DType type, Phase phase)
{
    return 4 * on.product_error(type, phase);
}

struct Product {
    int64_t rows = 1;
    bool bias = false, accumulate = false;
    Phase phase = Phase::Prefill;
};

std::vector<Product> products(const TestBackend& on)
{
    if (on.emulated())
        return {{17, true, false, Phase::Prefill},
                {3, false, true, Phase::Prefill},
                {1, true, true, Phase::Decode},
                {1, false, false, Phase::Decode}};
    std::vector<Product> all;
    for (const Phase phase : {Phase::Prefill, Phase::Decode})
        for (const bool bias : {false, true})
            for (const bool accumulate : {false, true})
                for (const int64_t rows : {1, 3, 29})
                    all.push_back({rows, bias, accumulate, phase});
    return all;
}

void check_finished(const TestBackend& on, Backend& backend, const Weights& weights, const Product& p,
                    const Finish& finish)
{
    std::mt19937 random(seed);
    const int64_t cols = weights.plain->cols(), width = weights.plain->rows();
    const auto x = random_floats(random, p.rows * cols), norm = random_floats(random, cols);
    const auto bias = random_floats(random, width), last_norm = random_floats(random, width);
    auto y = p.accumulate ? random_floats(random, p.rows * width) : poisoned(p.rows * width);
    LinearArgs args{.x = x.data(),
                    .rows = p.rows,
                    .norm = {norm.data(), 1e-5f},
                    .weight = weights.plain.get(),
                    .bias = p.bias ? bias.data() : nullptr,
                    .y = y.data(),
                    .accumulate = false,
                    .phase = p.phase};
    args.finish = finish.with(last_norm, size_of(reference::linear(args)));
    args.accumulate = p.accumulate;
    const auto expected = reference::linear(args);
    const auto got = linear_on(backend, args, *weights.placed);
    INFO(finish << ", rows " << p.rows << ", " << cols << " -> " << width << ", bias " << p.bias << ", accumulate "
                << p.accumulate << ", phase " << static_cast<int>(p.phase) << ", on " << on << ", seed " << seed);
    CHECK(largest_error(got, expected) < finished_error(on, weights.type, p.phase));
}

TEST_CASE("finished products agree with float64 for every type, phase and backend", "[finish]")
{
    for (const TestBackend& on : every_backend()) {
        const auto backend = on.open();
        std::mt19937 random(seed);
        size_t index = 0;
        for (const DType type : all_types) {
            if (on.emulated() && type == DType::F16) continue;
            if (!takes(on, index++)) continue;
            for (const auto& [width, cols] : {std::pair<int64_t, int64_t>{37, 96}, {150, 288}}) {
                if (on.emulated() && width > 100) continue;
                const Stored stored(random, type, width, cols);
                const Weights weights(*backend, {&stored});
                INFO("type " << info(type).name);
                for (const Finish& finish : finishes(on))
                    for (const Product& p : products(on))
                        check_finished(on, *backend, weights, p, finish);
            }
        }
    }
}

// Rows that are wider than what one task or one thread block processes, like the logits of a large vocabulary.
TEST_CASE("all columns of very wide rows are finished", "[finish]")
{
    for (const TestBackend& on : every_backend()) {
        const auto backend = on.open();
        std::mt19937 random(seed);
        const Stored stored(random, DType::BF16, on.emulated() ? 3001 : 20011, 32);
        const Weights weights(*backend, {&stored});
        for (const Finish& finish : {Finish{false, 0.5f, 3.0f}, Finish{true, 2.0f, 3.0f}}) {
            check_finished(on, *backend, weights, {1, false, false, Phase::Decode}, finish);
            check_finished(on, *backend, weights, {2, false, true, Phase::Prefill}, finish);
        }
    }
}

TEST_CASE("the bits of a finished row depend on neither other rows nor threads", "[finish]")
{
    for (const TestBackend& on : every_backend()) {
        std::mt19937 random(seed);
        const Stored stored(random, DType::F16, 61, 544);
        const auto x = random_floats(random, 37 * 544), norm = random_floats(random, 61);
        const auto old = random_floats(random, 37 * 61);
        std::vector<float> whole;
        std::vector<int> threads{1, 2, 3};
        if (on.kind() != Kind::Cpu) threads = {1};
        for (const int thread_count : threads) {
            const auto backend = on.open(thread_count);
            const Weights weights(*backend, {&stored});
            const auto finished = [&](size_t first, int64_t rows) {
                std::vector<float> y(old.begin() + static_cast<std::ptrdiff_t>(first * 61), old.end());
                return linear_on(*backend,
                                 {.x = x.data() + first * 544,
                                  .rows = rows,
                                  .norm = {},
                                  .y = y.data(),
                                  .accumulate = true,
                                  .finish = {.norm = {norm.data(), 1e-5f}, .factor = 0.3f, .soft_cap = 2.0f}},
                                 *weights.placed);
            };
            if (whole.empty()) whole = finished(0, 37);
            for (const int64_t rows : {1, 7, 37})
                for (const int64_t first : {int64_t{0}, (37 - rows) / 2, 37 - rows}) {
                    const auto slice = finished(static_cast<size_t>(first), rows);
                    INFO("on " << on << ", threads " << thread_count << ", rows " << rows << " from " << first);
                    CHECK(std::equal(slice.begin(), slice.end(), whole.begin() + first * 61));
                }
        }
    }
}

TEST_CASE("feed_forward agrees with float64 for every activation and finish", "[finish]")
{
    for (const TestBackend& on : every_backend()) {
        const auto backend = on.open();
        std::mt19937 random(seed);
        size_t index = 0;
        for (const DType type : all_types) {
            if (on.emulated() && type == DType::F16) continue;
            if (!takes(on, index++)) continue;
            const int64_t dim = 96, hidden = on.emulated() ? 64 : 352;
            const Stored both(random, type, 2 * hidden, dim), down(random, type, dim, hidden);
            const Weights gate_up(*backend, {&both}), down_weights(*backend, {&down});
            const auto norm = random_floats(random, dim), last_norm = random_floats(random, dim);
            auto all = finishes(on);
            all.push_back({});
            for (const Finish& finish : all)
                for (const Activation activation : {Activation::Silu, Activation::GeluTanh})
                    for (const Phase phase : {Phase::Prefill, Phase::Decode})
                        for (const int64_t rows : {1, 17}) {
                            if (on.emulated() && (phase == Phase::Decode) != (rows == 1)) continue;
                            auto x = random_floats(random, rows * dim);
                            FeedForwardArgs args{.x = x.data(),
                                                 .rows = rows,
                                                 .norm = {norm.data(), 1e-6f},
                                                 .gate_up = gate_up.plain.get(),
                                                 .down = down_weights.plain.get(),
                                                 .phase = phase,
                                                 .activation = activation};
                            args.finish = finish.with(last_norm, size_of(reference::feed_forward(args)));
                            const auto expected = reference::feed_forward(args);
                            const auto got = feed_forward_on(*backend, args, *gate_up.placed, *down_weights.placed);
                            INFO("on " << on << ", type " << info(type).name << ", rows " << rows << ", phase "
                                       << static_cast<int>(phase) << ", activation " << static_cast<int>(activation)
                                       << ", " << finish << ", seed " << seed);
                            CHECK(largest_error(got, expected) < finished_error(on, type, phase));
                        }
        }
    }
}

TEST_CASE("GELU is accurate far from zero", "[finish]")
{
    // With unit weights, x += gelu(x) * x.
    const float ones[] = {1, 1};
    const HostMatrix gate_up{DType::F32, reinterpret_cast<const std::byte*>(ones), 2, 1, 0};
    const HostMatrix down{DType::F32, reinterpret_cast<const std::byte*>(ones), 1, 1, 0};
    for (const TestBackend& on : every_backend()) {
        const auto backend = on.open(1);
        const auto gate_up_weight = backend->load({&gate_up, 1}), down_weight = backend->load({&down, 1});
        for (const Phase phase : {Phase::Prefill, Phase::Decode})
            for (float x : {-1e15f, -200.0f, -9.0f, -1.0f, 0.0f, 0.5f, 3.0f, 200.0f, 1e15f}) {
                INFO("on " << on << ", x " << x << ", phase " << static_cast<int>(phase));
                const FeedForwardArgs args{
                    .x = &x, .rows = 1, .norm = {}, .phase = phase, .activation = Activation::GeluTanh};
                const auto got = feed_forward_on(*backend, args, *gate_up_weight, *down_weight);
                const double s = static_cast<double>(x);
                const double u = std::sqrt(2 / std::numbers::pi) * (s + 0.044715 * s * s * s);
                CHECK(static_cast<double>(got[0]) == Approx(s + 0.5 * s * (1 + std::tanh(u)) * s).epsilon(1e-6));
            }
    }
}

TEST_CASE("embed multiplies its rows by the factor", "[finish]")
{
    for (const TestBackend& on : every_backend()) {
        const auto backend = on.open();
        std::mt19937 random(seed);
        for (const DType type : all_types) {
            INFO("on " << on << ", type " << info(type).name);
            const Stored stored(random, type, 50, 64);
            const Weights table(*backend, {&stored});
            const std::vector<int32_t> ids{49, 0, 7, 7, 23};
            const EmbedArgs args{.table = table.plain.get(), .ids = ids, .factor = 0.0625f}; // exact: 2^-4
            const auto expected = reference::embed(args);
            const Buffer y = to_device(*backend, poisoned(static_cast<int64_t>(expected.size())));
            backend->embed({.table = table.placed.get(), .ids = ids, .y = y.data<float>(), .factor = args.factor});
            const auto got = to_host<float>(*backend, y, expected.size());
            CHECK(std::equal(got.begin(), got.end(), expected.begin(), expected.end(),
                             [](float a, double b) { return static_cast<double>(a) == b; }));
        }
    }
}

#ifdef PALIMPSEST_EMULATED_CUDA
TEST_CASE("finished products use no more working memory than was reserved", "[finish]")
{
    const auto backend = tests::open_emulated_cuda(90);
    std::mt19937 random(seed);
    constexpr int64_t dim = 96, hidden = 64, rows = 17;
    const Stored both(random, DType::F16, 2 * hidden, dim), down(random, DType::F16, dim, hidden),
        out(random, DType::F16, dim, dim);
    const HostMatrix matrices[] = {both.matrix, down.matrix, out.matrix};
    WorkBounds work;
    work.heads = {.query_heads = 2, .kv_heads = 1, .head_dim = dim / 2};
    work.rows = work.chunk_rows = rows;
    work.vocabulary = 10;
    work.width = dim;
    work.hidden = hidden;
    work.finishes = true;
    work.weights = matrices;
    backend->reserve(work);
    const uint64_t reserved = backend->scratch_bytes();

    const Weights gate_up(*backend, {&both}), down_weights(*backend, {&down}), out_weights(*backend, {&out});
    const auto norm = random_floats(random, dim);
    auto x = random_floats(random, rows * dim);
    const RowFinish finish{.norm = {norm.data(), 1e-6f}};
    for (const Phase phase : {Phase::Prefill, Phase::Decode}) {
        feed_forward_on(*backend,
                        {.x = x.data(),
                         .rows = phase == Phase::Prefill ? rows : 1,
                         .norm = {norm.data(), 1e-6f},
                         .phase = phase,
                         .activation = Activation::GeluTanh,
                         .finish = finish},
                        *gate_up.placed, *down_weights.placed);
        linear_on(*backend,
                  {.x = x.data(),
                   .rows = rows,
                   .norm = {},
                   .y = x.data(),
                   .accumulate = true,
                   .phase = phase,
                   .finish = finish},
                  *out_weights.placed);
        CHECK(backend->scratch_bytes() == reserved);
    }
}
#endif

} // namespace
} // namespace palimpsest::kernels::test
