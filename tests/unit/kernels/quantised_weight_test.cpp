// Weights of every quantised type on every backend: their values must match bit for bit, and products with them are
// compared with plain float64 loops.

#include <cstring>
#include <numeric>
#include <random>
#include <utility>
#include <vector>

#include "kernels/base/convert.h"
#include "kernels/cuda/linear/cuda_weight.h"
#include "kernels/reference/reference_linear.h"
#include "tests/support/catch.h"
#include "tests/support/random_blocks.h"
#include "tests/unit/kernels/linear_case.h"

using namespace palimpsest;
using namespace palimpsest::kernels;
using test::every_backend;
using test::largest_error;
using test::normal_floats;
using test::poisoned;
using test::seed;
using test::TestBackend;
using test::to_device;
using test::to_host;

namespace {

constexpr DType quantised_types[] = {DType::Q4_0,   DType::Q4_1,   DType::Q5_0, DType::Q5_1, DType::Q8_0,
                                     DType::Q2_K,   DType::Q3_K,   DType::Q4_K, DType::Q5_K, DType::Q6_K,
                                     DType::IQ4_NL, DType::IQ4_XS, DType::MXFP4};

// Weight rows, as a file stores them.
class Stored {
public:
    Stored(std::mt19937& random, DType type, int64_t rows, int64_t cols, int32_t paired = 0)
        : type_(type), rows_(rows), cols_(cols), paired_(paired)
    {
        if (info(type).block > 1)
            bytes_ = tests::random_blocks(random, type, rows * cols);
        else
            bytes_ = test::narrowed(type, normal_floats(random, static_cast<size_t>(rows * cols), 0.1f).data(),
                                    rows * cols);
    }
    HostMatrix matrix() const { return {type_, bytes_.data(), rows_, cols_, paired_}; }

private:
    DType type_;
    int64_t rows_, cols_;
    int32_t paired_;
    std::vector<std::byte> bytes_;
};

// Every backend; CPU backends also with exact products.
std::vector<std::pair<TestBackend, bool>> every_way()
{
    std::vector<std::pair<TestBackend, bool>> all;
    for (const TestBackend& on : every_backend()) {
        all.emplace_back(on, false);
        if (on.kind() == test::Kind::Cpu) all.emplace_back(on, true);
    }
    return all;
}

std::unique_ptr<Weight> load(Backend& backend, const Stored& stored)
{
    const HostMatrix matrix = stored.matrix();
    return backend.load({&matrix, 1});
}

std::vector<HostMatrix> matrices(const std::vector<Stored>& parts)
{
    std::vector<HostMatrix> all;
    for (const Stored& part : parts)
        all.push_back(part.matrix());
    return all;
}

struct Options {
    int64_t rows = 1;
    Phase phase = Phase::Decode;
    bool norm = false;
    bool exact = false; // exact_products of the backend
};

std::vector<float> product_of(Backend& backend, const Weight& weight, const std::vector<float>& x,
                              const std::vector<float>& norm, Phase phase)
{
    const int64_t rows = std::ssize(x) / weight.cols();
    const Buffer input = to_device(backend, x), factors = to_device(backend, norm),
                 y = to_device(backend, poisoned(rows * weight.rows()));
    backend.linear({.x = input.data<float>(),
                    .rows = rows,
                    .norm = {norm.empty() ? nullptr : factors.data<float>(), 1e-5f},
                    .weight = &weight,
                    .y = y.data<float>(),
                    .phase = phase});
    return to_host<float>(backend, y, static_cast<size_t>(rows * weight.rows()));
}

void check_product(const TestBackend& on, Backend& backend, const std::vector<Stored>& parts,
                   const Options& options)
{
    const auto plain = cpu::load(matrices(parts));
    const auto placed = backend.load(matrices(parts));
    std::mt19937 random(seed);
    // The mean of the activations is not 0, so that a small error of an offset shows.
    auto x = normal_floats(random, static_cast<size_t>(options.rows * plain->cols()));
    for (float& v : x)
        v += 0.25f;
    std::vector<float> norm;
    if (options.norm) norm = normal_floats(random, static_cast<size_t>(plain->cols()));
    const auto expected = reference::linear({.x = x.data(),
                                             .rows = options.rows,
                                             .norm = {options.norm ? norm.data() : nullptr, 1e-5f},
                                             .weight = plain.get(),
                                             .phase = options.phase});
    const auto got = product_of(backend, *placed, x, norm, options.phase);
    INFO("on " << on << ", type " << info(parts.front().matrix().type).name << ", " << options.rows << " rows, "
               << plain->cols() << " -> " << plain->rows() << ", phase " << static_cast<int>(options.phase)
               << ", norm " << options.norm << ", exact " << options.exact << ", seed " << seed);
    CHECK(largest_error(got, expected) <
          on.product_error(parts.front().matrix().type, options.phase, options.exact));
}

std::vector<int32_t> every_row(const Weight& weight)
{
    std::vector<int32_t> ids(static_cast<size_t>(weight.rows()));
    std::iota(ids.begin(), ids.end(), 0);
    return ids;
}

std::vector<float> embedded(Backend& backend, const Weight& table)
{
    const Buffer y = to_device(backend, poisoned(table.rows() * table.cols()));
    backend.embed({.table = &table, .ids = every_row(table), .y = y.data<float>()});
    return to_host<float>(backend, y, static_cast<size_t>(table.rows() * table.cols()));
}

bool same_bits(const std::vector<float>& a, const std::vector<float>& b)
{
    return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

} // namespace

TEST_CASE("embedded rows of every quantised type have the bits of the scalar conversion", "[quantised]")
{
    for (const TestBackend& on : every_backend()) {
        const auto backend = on.open();
        std::mt19937 random(seed);
        for (const DType type : quantised_types)
            for (const int64_t blocks : {1, 3}) {
                const int64_t rows = 7, cols = blocks * info(type).block;
                const Stored stored(random, type, rows, cols);
                std::vector<float> expected(static_cast<size_t>(rows * cols));
                to_f32(type, stored.matrix().data, expected.data(), rows * cols);
                INFO("on " << on << ", type " << info(type).name << ", " << blocks << " blocks in a row");
                CHECK(same_bits(embedded(*backend, *load(*backend, stored)), expected));
            }
    }
}

TEST_CASE("embedded rows have the right bits for every exponent of MXFP4", "[quantised]")
{
    std::mt19937 random(seed);
    const int64_t rows = 256, cols = small_block;
    std::vector<std::byte> bytes = tests::random_blocks(random, DType::MXFP4, rows * cols);
    for (size_t row = 0; row < rows; ++row)
        bytes[row * sizeof(BlockMXFP4)] = static_cast<std::byte>(row);
    const HostMatrix matrix{DType::MXFP4, bytes.data(), rows, cols, 0};
    std::vector<float> expected(rows * cols);
    to_f32(DType::MXFP4, bytes.data(), expected.data(), rows * cols);
    for (const TestBackend& on : every_backend()) {
        INFO("on " << on);
        const auto backend = on.open();
        CHECK(same_bits(embedded(*backend, *backend->load({&matrix, 1})), expected));
    }
}

TEST_CASE("products with every quantised type agree with float64", "[quantised]")
{
    for (const auto& [on, exact] : every_way()) {
        const auto backend = on.open(2, exact);
        std::mt19937 random(seed);
        for (const DType type : quantised_types) {
            const auto weight = [&](int64_t rows, int64_t cols) {
                return std::vector<Stored>{Stored(random, type, rows, cols)};
            };
            const int64_t block = info(type).block;
            for (const Phase phase : {Phase::Decode, Phase::Prefill}) {
                check_product(on, *backend, weight(1, block), {1, phase, false, exact});
                check_product(on, *backend, weight(37, 3 * block), {2, phase, true, exact});
                check_product(on, *backend, weight(19, 1280), {3, phase, false, exact});
            }
            // More columns than decode on a GPU keeps in shared memory at a time.
            check_product(on, *backend, weight(5, 4096 + 2 * 256), {1, Phase::Decode, true, exact});
        }
    }
}

TEST_CASE("prefill agrees with float64 for a weight that it converts in several pieces", "[quantised]")
{
    for (const TestBackend& on : every_backend()) {
        if (on.kind() != test::Kind::Cuda) continue; // takes seconds on the emulator
        const auto backend = on.open();
        std::mt19937 random(seed);
        // A piece has at least 128 rows, and exactly 128 if rows are this wide.
        for (const DType type : quantised_types)
            check_product(on, *backend, {Stored(random, type, 130, 65536 + 256)}, {1, Phase::Prefill, false});
    }
}

TEST_CASE("planes from a later row on skip the bytes of the rows before it", "[quantised]")
{
    struct Expected {
        DType type;
        std::ptrdiff_t values, high, scales, factors; // bytes of two rows of 512 columns
    };
    constexpr Expected all[] = {
        {DType::BF16, 2048, 0, 0, 0},   {DType::Q8_0, 1024, 0, 64, 0},  {DType::Q4_1, 512, 0, 128, 0},
        {DType::Q5_0, 512, 128, 64, 0}, {DType::MXFP4, 512, 0, 32, 0},  {DType::Q2_K, 256, 0, 64, 16},
        {DType::Q3_K, 256, 128, 64, 8}, {DType::Q4_K, 512, 0, 64, 16},  {DType::Q5_K, 512, 128, 64, 16},
        {DType::Q6_K, 512, 256, 64, 8}, {DType::IQ4_XS, 512, 0, 32, 8},
    };
    std::vector<std::byte> memory(4096);
    const auto moved = [&](const void* plane) { return static_cast<const std::byte*>(plane) - memory.data(); };
    for (const Expected& expected : all) {
        const std::byte* base = memory.data();
        const cuda::WeightPlanes planes{expected.type, base, base, base, base, 7, 512, 512};
        const cuda::WeightPlanes rest = cuda::rows_from(planes, 2);
        INFO("type " << info(expected.type).name);
        CHECK(rest.rows == 5);
        CHECK(moved(rest.values) == expected.values);
        CHECK(moved(rest.high) == expected.high);
        CHECK(moved(rest.scales) == expected.scales);
        CHECK(moved(rest.factors) == expected.factors);
    }
}

TEST_CASE("a weight of several quantised types, with rotary rows in pairs, agrees with its rows", "[quantised]")
{
    for (const TestBackend& on : every_backend()) {
        const auto backend = on.open();
        std::mt19937 random(seed);
        const int64_t cols = 512;
        std::vector<Stored> parts;
        parts.emplace_back(random, DType::Q4_K, 48, cols, 16);
        parts.emplace_back(random, DType::Q6_K, 33, cols);
        parts.emplace_back(random, DType::Q6_K, 16, cols, 8); // the same type as the part before, but paired
        parts.emplace_back(random, DType::BF16, 7, cols);
        parts.emplace_back(random, DType::Q5_0, 5, cols);
        parts.emplace_back(random, DType::Q8_0, 1, cols);
        const auto weight = backend->load(matrices(parts));
        REQUIRE(weight->rows() == 110);
        std::vector<float> expected;
        const auto plain = cpu::load(matrices(parts));
        for (const int32_t row : every_row(*plain))
            for (const double element : reference::widened_row(*plain, row))
                expected.push_back(static_cast<float>(element));
        INFO("on " << on);
        CHECK(same_bits(embedded(*backend, *weight), expected));
        check_product(on, *backend, parts, {1, Phase::Decode, true});
        // Prefill is tested without the BF16 rows, whose products are less precise.
        check_product(on, *backend, {parts.begin(), parts.begin() + 3}, {19, Phase::Prefill, false});
        if (on.kind() != test::Kind::Cpu) continue; // the parts below are larger than a column block of the CPU
        std::vector<Stored> wide;
        wide.emplace_back(random, DType::Q6_K, 141, cols);
        wide.emplace_back(random, DType::Q6_K, 272, cols, 16);
        check_product(on, *backend, wide, {19, Phase::Prefill, true});
    }
}

TEST_CASE("a feed-forward layer of one or two quantised types agrees with float64", "[quantised]")
{
    for (const auto& [on, exact] : every_way()) {
        const auto backend = on.open(2, exact);
        std::mt19937 random(seed);
        const int64_t dim = 256, hidden = 512;
        for (const DType type : quantised_types) {
            std::vector<Stored> alike, mixed, down;
            alike.emplace_back(random, type, hidden, dim);
            alike.emplace_back(random, type, hidden, dim);
            mixed.emplace_back(random, type, hidden, dim);
            mixed.emplace_back(random, DType::Q6_K, hidden, dim);
            down.emplace_back(random, type, dim, hidden);
            const auto norm = normal_floats(random, static_cast<size_t>(dim), 0.05f);
            const auto input = normal_floats(random, static_cast<size_t>(dim));
            for (const auto* gate_up : {&alike, &mixed})
                for (const Phase phase : {Phase::Decode, Phase::Prefill}) {
                    if (on.emulated() && phase == Phase::Prefill && type != DType::Q4_K) continue;
                    const auto plain_gate_up = cpu::load(matrices(*gate_up)),
                               plain_down = cpu::load(matrices(down));
                    auto x = input;
                    FeedForwardArgs args{.x = x.data(),
                                         .rows = 1,
                                         .norm = {norm.data(), 1e-6f},
                                         .gate_up = plain_gate_up.get(),
                                         .down = plain_down.get(),
                                         .phase = phase};
                    const auto expected = reference::feed_forward(args);
                    const auto placed_gate_up = backend->load(matrices(*gate_up)),
                               placed_down = backend->load(matrices(down));
                    const Buffer rows = to_device(*backend, input), factors = to_device(*backend, norm);
                    args.x = rows.data<float>();
                    args.norm.weight = factors.data<float>();
                    args.gate_up = placed_gate_up.get();
                    args.down = placed_down.get();
                    backend->feed_forward(args);
                    INFO("on " << on << ", type " << info(type).name << ", mixed " << (gate_up == &mixed)
                               << ", phase " << static_cast<int>(phase) << ", exact " << exact << ", seed "
                               << seed);
                    // In fixed point, the second product adds its error to that of the first.
                    const double allowed =
                        (on.in_fixed_point(type, phase, exact) ? 2 : 1) * on.product_error(type, phase, exact);
                    CHECK(largest_error(to_host<float>(*backend, rows, input.size()), expected) < allowed);
                }
        }
    }
}

TEST_CASE("the bits of a decoded row of a quantised weight do not depend on other rows", "[quantised]")
{
    for (const TestBackend& on : every_backend()) {
        const auto backend = on.open();
        std::mt19937 random(seed);
        for (const DType type : quantised_types) {
            const Stored stored(random, type, 21, 768);
            const auto weight = load(*backend, stored);
            const auto x = normal_floats(random, 3 * 768);
            const auto together = product_of(*backend, *weight, x, {}, Phase::Decode);
            std::vector<float> apart;
            for (auto row = x.begin(); row != x.end(); row += 768) {
                const auto y = product_of(*backend, *weight, {row, row + 768}, {}, Phase::Decode);
                apart.insert(apart.end(), y.begin(), y.end());
            }
            INFO("on " << on << ", type " << info(type).name);
            CHECK(together == apart);
        }
    }
}

TEST_CASE("a replayed product with quantised weights has the bits of one that was not recorded", "[quantised]")
{
    for (const TestBackend& on : every_backend()) {
        const auto backend = on.open();
        if (!backend->selects()) continue;
        std::mt19937 random(seed);
        std::vector<Stored> parts;
        parts.emplace_back(random, DType::Q4_K, 40, 512);
        parts.emplace_back(random, DType::Q6_K, 9, 512);
        const auto weight = backend->load(matrices(parts));
        const Buffer x = to_device(*backend, normal_floats(random, 512)), y = to_device(*backend, poisoned(49));
        const auto multiply = [&] {
            backend->linear({.x = x.data<float>(),
                             .rows = 1,
                             .norm = {},
                             .weight = weight.get(),
                             .y = y.data<float>(),
                             .phase = Phase::Decode});
        };
        multiply();
        const auto recording = backend->record(multiply);
        REQUIRE(recording);
        for (int turn = 0; turn < 2; ++turn) {
            const auto other = normal_floats(random, 512);
            backend->upload(x.data(), other.data(), other.size() * sizeof(float));
            REQUIRE(backend->replay(*recording));
            INFO("on " << on);
            CHECK(to_host<float>(*backend, y, 49) == product_of(*backend, *weight, other, {}, Phase::Decode));
        }
    }
}

TEST_CASE("a weight takes as much device memory as weight_bytes() predicts", "[quantised]")
{
    for (const TestBackend& on : every_backend()) {
        const auto backend = on.open();
        if (!backend->memory()) continue;
        std::mt19937 random(seed);
        for (const DType type : quantised_types) {
            std::vector<Stored> parts;
            parts.emplace_back(random, type, 512, 1024);
            parts.emplace_back(random, type, 3, 1024);
            parts.emplace_back(random, DType::F16, 1, 1024);
            backend->load(matrices(parts)); // allocates the ring buffer that later uploads reuse
            const uint64_t before = backend->memory()->free;
            const auto weight = backend->load(matrices(parts));
            INFO("on " << on << ", type " << info(type).name);
            const uint64_t taken = before - backend->memory()->free, said = backend->weight_bytes(matrices(parts));
            // A driver allocates memory in pages of 2 MB.
            if (on.emulated()) CHECK(taken == said);
            CHECK(said >= static_cast<uint64_t>(weight->bytes()));
            CHECK(said <= static_cast<uint64_t>(weight->bytes()) * 21 / 20 + 4096);
        }
    }
}

#ifdef PALIMPSEST_EMULATED_CUDA
TEST_CASE("quantised products do not depend on the order in which threads and blocks run", "[quantised]")
{
    const auto backend = tests::open_emulated_cuda(90);
    std::mt19937 random(seed);
    for (const DType type : quantised_types) {
        const Stored stored(random, type, 19, 512);
        const auto x = normal_floats(random, 2 * 512), norm = normal_floats(random, 512);
        for (const Phase phase : {Phase::Prefill, Phase::Decode}) {
            const auto run = [&] { return product_of(*backend, *load(*backend, stored), x, norm, phase); };
            const auto ascending = run();
            const tests::DescendingOrder order;
            INFO("type " << info(type).name << ", phase " << static_cast<int>(phase));
            CHECK(run() == ascending);
        }
    }
}

TEST_CASE("the working memory of quantised products stays within its bound", "[quantised]")
{
    for (const DType type : quantised_types) {
        const auto backend = tests::open_emulated_cuda(90);
        std::mt19937 random(seed);
        const Stored stored(random, type, 130, 512);
        WorkBounds work;
        work.heads = {.query_heads = 1, .kv_heads = 1, .head_dim = 1};
        work.rows = 8;
        work.width = 512;
        const HostMatrix matrix = stored.matrix();
        work.weights = {&matrix, 1};
        const auto weight = load(*backend, stored);
        const uint64_t before = backend->scratch_bytes();
        product_of(*backend, *weight, normal_floats(random, 8 * 512), {}, Phase::Prefill);
        const uint64_t taken = backend->scratch_bytes() - before;
        INFO("type " << info(type).name);
        CHECK(taken > 130 * 512 * 2);
        CHECK(taken <= backend->scratch_bound(work));
    }
}
#endif
