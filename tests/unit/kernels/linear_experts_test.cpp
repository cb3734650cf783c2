// Expert layers: accuracy against float64, and guarantees about bits.

#include <ostream>

#include "kernels/reference/reference_linear.h"
#include "tests/unit/kernels/linear_case.h"

namespace palimpsest::kernels::test {
namespace {

struct ExpertsCase {
    DType type = DType::F32;
    int64_t count = 8, rows = 5, dim = 64, ffn = 96;
    int32_t used = 2;
    bool norm = true, renormalise = true;
    float factor = 1.0f;
    Activation activation = Activation::Silu;
    Phase phase = Phase::Prefill;
};

std::ostream& operator<<(std::ostream& out, const ExpertsCase& c)
{
    return out << info(c.type).name << ", " << c.used << " of " << c.count << ", rows " << c.rows << ", dim "
               << c.dim << ", ffn " << c.ffn << ", norm " << c.norm << ", renormalise " << c.renormalise
               << ", factor " << c.factor << ", activation " << static_cast<int>(c.activation) << ", phase "
               << static_cast<int>(c.phase) << ", seed " << seed;
}

std::vector<ExpertsCase> experts_cases()
{
    std::mt19937 random(seed);
    const auto pick = [&](std::initializer_list<int32_t> from) {
        return *(from.begin() + static_cast<std::ptrdiff_t>(random() % from.size()));
    };
    std::vector<ExpertsCase> cases;
    for (int i = 0; i < 32; ++i) {
        ExpertsCase c;
        c.type = all_types[i % 4];
        c.count = pick({1, 4, 8, 33});
        c.used = std::min<int32_t>(pick({1, 2, 4, 8}), static_cast<int32_t>(c.count));
        c.rows = pick({1, 3, 40});
        c.dim = pick({32, 96});
        c.ffn = pick({32, 160});
        c.norm = i % 5 != 0;
        c.renormalise = i % 3 != 0;
        if (i % 2) c.factor = 0.4f;
        c.activation = i % 7 < 3 ? Activation::GeluTanh : Activation::Silu;
        c.phase = i / 4 % 2 ? Phase::Decode : Phase::Prefill;
        cases.push_back(c);
    }
    for (const DType type : {DType::Q4_0, DType::Q4_1, DType::Q5_1, DType::Q2_K, DType::Q3_K, DType::Q4_K,
                             DType::Q5_K, DType::Q6_K, DType::IQ4_XS, DType::MXFP4})
        for (const Phase phase : {Phase::Prefill, Phase::Decode}) {
            const bool whole = info(type).block == super_block;
            cases.push_back({.type = type,
                             .count = 4,
                             .rows = 3,
                             .dim = whole ? 256 : 96,
                             .ffn = whole ? 512 : 160,
                             .phase = phase});
        }
    return cases;
}

// A layer's weights, as a file stores them, and its input.
struct ExpertsInput {
    explicit ExpertsInput(const ExpertsCase& c)
        : random(seed), router(random, DType::F32, c.count, c.dim), x(random_floats(random, c.rows * c.dim)),
          norm(random_floats(random, c.dim))
    {
        for (int64_t e = 0; e < c.count; ++e) {
            gate_up.emplace_back(random, c.type, 2 * c.ffn, c.dim);
            down.emplace_back(random, c.type, c.dim, c.ffn);
        }
    }

    std::mt19937 random;
    Stored router;
    std::vector<Stored> gate_up, down;
    std::vector<float> x, norm;
};

// The weights on a backend, and in the layout that the reference reads.
class Layer {
public:
    Layer(Backend& backend, const ExpertsInput& in) : backend_(backend), router_(backend, {&in.router})
    {
        for (size_t e = 0; e < in.gate_up.size(); ++e) {
            gate_up_.emplace_back(backend, std::initializer_list<const Stored*>{&in.gate_up[e]});
            down_.emplace_back(backend, std::initializer_list<const Stored*>{&in.down[e]});
        }
        for (size_t e = 0; e < in.gate_up.size(); ++e) {
            placed_.push_back(gate_up_[e].placed.get());
            placed_down_.push_back(down_[e].placed.get());
            plain_.push_back(gate_up_[e].plain.get());
            plain_down_.push_back(down_[e].plain.get());
        }
    }

    std::vector<float> run(const ExpertsCase& c, const ExpertsInput& in, int64_t first, int64_t rows) const
    {
        const Placed x(backend_, in.x.data() + first * c.dim, rows * c.dim), norm(backend_, in.norm.data(), c.dim);
        ExpertsArgs args = switches(c);
        args.x = x.data();
        args.rows = rows;
        if (c.norm) args.norm = {norm.data(), 1e-6f};
        args.router = router_.placed.get();
        args.gate_up = placed_;
        args.down = placed_down_;
        backend_.experts(args);
        std::vector<float> got(static_cast<size_t>(rows * c.dim));
        backend_.download(got.data(), x.data(), got.size() * sizeof(float));
        return got;
    }

    std::vector<double> expected(const ExpertsCase& c, ExpertsInput& in) const
    {
        ExpertsArgs args = switches(c);
        args.x = in.x.data();
        args.rows = c.rows;
        if (c.norm) args.norm = {in.norm.data(), 1e-6f};
        args.router = router_.plain.get();
        args.gate_up = plain_;
        args.down = plain_down_;
        return reference::experts(args);
    }

private:
    static ExpertsArgs switches(const ExpertsCase& c)
    {
        ExpertsArgs args;
        args.used = c.used;
        args.renormalise = c.renormalise;
        args.factor = c.factor;
        args.phase = c.phase;
        args.activation = c.activation;
        return args;
    }

    Backend& backend_;
    Weights router_;
    std::vector<Weights> gate_up_, down_;
    std::vector<const Weight*> placed_, placed_down_, plain_, plain_down_;
};

TEST_CASE("experts agree with float64 for every type, phase and backend", "[experts]")
{
    for (const TestBackend& on : every_backend()) {
        const auto backend = on.open();
        if (!backend->has_experts()) continue;
        for (const ExpertsCase& c : experts_cases()) {
            INFO(c << ", on " << on);
            ExpertsInput in(c);
            const Layer layer(*backend, in);
            CHECK(largest_error(layer.run(c, in, 0, c.rows), layer.expected(c, in)) <
                  2 * on.product_error(c.type, c.phase));
        }
    }
}

TEST_CASE("the bits of a row of an expert layer depend on neither other rows nor threads", "[experts]")
{
    for (const TestBackend& on : every_backend()) {
        if (!on.open()->has_experts()) continue;
        for (const ExpertsCase& c : experts_cases()) {
            const ExpertsInput in(c);
            std::vector<float> whole;
            for (const int threads : {1, 2, 3}) {
                const auto backend = on.open(threads);
                const Layer layer(*backend, in);
                if (whole.empty()) whole = layer.run(c, in, 0, c.rows);
                for (const int64_t rows : {int64_t{1}, c.rows / 2, c.rows}) {
                    if (rows == 0) continue;
                    const auto part = layer.run(c, in, c.rows - rows, rows);
                    INFO(c << ", on " << on << ", threads " << threads << ", last rows " << rows);
                    CHECK(std::equal(part.begin(), part.end(),
                                     whole.end() - static_cast<std::ptrdiff_t>(part.size())));
                }
            }
        }
    }
}

// Expert e adds e + 1 times the activated gate to x: x shows which experts were selected, and with which weights.
TEST_CASE("among experts with equal logits, the lower number is chosen", "[experts]")
{
    constexpr int64_t count = 6;
    const float ones[] = {1, 1};
    const float logits[] = {0, 2, 5, 2, 2, 1};
    const float downs[] = {1, 2, 3, 4, 5, 6};
    const HostMatrix gate_up{DType::F32, reinterpret_cast<const std::byte*>(ones), 2, 1, 0};
    const HostMatrix router{DType::F32, reinterpret_cast<const std::byte*>(logits), count, 1, 0};
    const double activated = 1 / (1 + std::exp(-1.0)); // silu(1) * 1
    for (const TestBackend& on : every_backend()) {
        const auto backend = on.open(2);
        if (!backend->has_experts()) continue;
        const auto router_weight = backend->load({&router, 1}), gate_up_weight = backend->load({&gate_up, 1});
        std::vector<std::unique_ptr<Weight>> loaded;
        std::vector<const Weight*> gate_ups, down;
        for (const float& each : downs) {
            const HostMatrix matrix{DType::F32, reinterpret_cast<const std::byte*>(&each), 1, 1, 0};
            loaded.push_back(backend->load({&matrix, 1}));
            down.push_back(loaded.back().get());
            gate_ups.push_back(gate_up_weight.get());
        }
        for (const Phase phase : {Phase::Prefill, Phase::Decode}) {
            const Buffer x = to_device(*backend, std::vector<float>{1});
            ExpertsArgs args;
            args.x = x.data<float>();
            args.rows = 1;
            args.router = router_weight.get();
            args.gate_up = gate_ups;
            args.down = down;
            args.used = 3; // chooses expert 2, and of the three with logit 2 the experts 1 and 3
            args.phase = phase;
            backend->experts(args);
            const double best = std::exp(5.0), equal = std::exp(2.0), total = best + 2 * equal;
            const double expected = 1 + activated * (3 * best + 2 * equal + 4 * equal) / total;
            INFO("on " << on << ", phase " << static_cast<int>(phase));
            CHECK(static_cast<double>(to_host<float>(*backend, x, 1)[0]) == Approx(expected).epsilon(1e-6));
        }
    }
}

} // namespace
} // namespace palimpsest::kernels::test
