// stage, compact, drop and defragment, compared with plain lists of tokens: a token keeps its key and value
// wherever they are moved.

#include <numeric>
#include <set>

#include "kernels/reference/reference_attention.h"
#include "tests/support/catch.h"
#include "tests/unit/kernels/backends.h"
#include "tests/unit/kernels/kv_fixture.h"

namespace palimpsest::kernels {
namespace {

using namespace test;

constexpr DType staged_types[] = {DType::F32, DType::F16, DType::BF16};
constexpr DType pool_types[] = {DType::F32, DType::F16, DType::BF16, DType::Q8_0};

HeadShape small_shape(DType type)
{
    const int32_t dim = type == DType::Q8_0 ? 64 : 16;
    return {.query_heads = 6, .kv_heads = 3, .head_dim = dim, .scale = 0.25f};
}

// An element of a token's key or value. Every type narrower than f32 rounds it.
float element(uint32_t token, int64_t i, bool value)
{
    const auto x = (token * 37u + static_cast<uint32_t>(i) * 11u + (value ? 5u : 0u)) % 251u;
    return (static_cast<float>(x) - 125.0f) * 0.337f;
}

// A row as the pool stores it after staging.
std::vector<std::byte> taken_in(const KvFixture& kv, const float* x)
{
    const int64_t dim = kv.shape.head_dim;
    const auto staged = narrowed(kv.staged_type, x, dim);
    return narrowed(kv.type, widened_floats(kv.staged_type, staged.data(), dim).data(), dim);
}

// Runs random operations on a backend, and on the expected lists of the fixture.
class Machine {
public:
    // `resident`: the kept ranks are sometimes passed to compact() in backend memory, where evict() writes them.
    Machine(Backend& backend, DType type, bool resident, uint32_t seed)
        : resident_(resident),
          kv_(backend, small_shape(type), type, capacity, seed, seed % 2 ? DType::F16 : DType::BF16), random_(seed),
          rope_(to_device(backend, rope_table(capacity + 1, small_shape(type).head_dim)))
    {
    }

    void prefill()
    {
        defragment();
        const auto rows = static_cast<int32_t>(pick(0, 70));
        const Staged staged = stage(rows);
        std::vector<uint32_t> kept(heads() * kept_stride);
        std::vector<int32_t> counts;
        for (size_t h = 0; h < heads(); ++h)
            counts.push_back(choose_kept(h, rows, staged, kept.data() + h * kept_stride));
        const bool resident = resident_ && pick(0, 1) == 0;
        const Buffer device_kept = to_device(kv_.backend, kept);
        kv_.backend.compact({.shape = kv_.shape,
                             .pool = kv_.pool(),
                             .lists = kv_.view(),
                             .staging = kv_.staging(),
                             .kept = resident ? nullptr : kept.data(),
                             .kept_stride = kept_stride,
                             .kept_count = counts.data(),
                             .device_kept = resident ? device_kept.data<uint32_t>() : nullptr});
        kv_.used = counts;
    }

    void decode()
    {
        if (*std::max_element(kv_.used.begin(), kv_.used.end()) >= kv_.order_stride) return;
        const HeadShape& shape = kv_.shape;
        std::vector<float> qkv(static_cast<size_t>(shape.qkv_width()), 0.5f);
        for (size_t h = 0; h < heads(); ++h)
            kv_.lists[h].push_back(new_token(h, qkv.data(), false));
        const Buffer input = to_device(kv_.backend, qkv);
        const Buffer out(kv_.backend, qkv.size() * sizeof(float));
        kv_.backend.decode_attend({.shape = shape,
                                   .qkv = input.data<float>(),
                                   .pool = kv_.pool(),
                                   .lists = kv_.view(),
                                   .rotation = {{rope_.data<float>(), capacity + 1, shape.head_dim}, false},
                                   .out = out.data<float>(),
                                   .signals = {},
                                   .retrieval = {}});
        for (int32_t& used : kv_.used)
            ++used;
    }

    void drop()
    {
        std::vector<uint32_t> dropped(heads() * kept_stride);
        std::vector<int32_t> counts;
        for (size_t h = 0; h < heads(); ++h) {
            std::vector<Row> left;
            int32_t count = 0;
            const int64_t one_in = pick(1, 40);
            for (size_t rank = 0; rank < kv_.lists[h].size(); ++rank) {
                if (pick(1, one_in) > 1)
                    left.push_back(kv_.lists[h][rank]);
                else
                    dropped[h * kept_stride + static_cast<size_t>(count++)] = static_cast<uint32_t>(rank);
            }
            kv_.lists[h] = left;
            counts.push_back(count);
        }
        kv_.backend.drop({.kv_heads = kv_.shape.kv_heads,
                          .lists = kv_.view(),
                          .dropped = dropped.data(),
                          .dropped_stride = kept_stride,
                          .dropped_count = counts.data()});
        for (size_t h = 0; h < heads(); ++h)
            kv_.used[h] -= counts[h];
    }

    void defragment()
    {
        kv_.backend.defragment({.shape = kv_.shape, .pool = kv_.pool(), .lists = kv_.view()});
        for (size_t h = 0; h < heads(); ++h) {
            const auto order = kv_.order_of(h);
            for (size_t rank = 0; rank < order.size(); ++rank)
                REQUIRE(order[rank] == rank);
        }
    }

    // Reads the keys and values of all lists with gather(): one list per call, or all in one call.
    std::vector<std::pair<std::vector<std::byte>, std::vector<std::byte>>> gather(bool all_at_once) const
    {
        const auto bytes = static_cast<size_t>(row_bytes(kv_.type, kv_.shape.head_dim));
        std::vector<std::pair<std::vector<std::byte>, std::vector<std::byte>>> gathered(heads());
        std::vector<GatherArgs> all;
        for (size_t h = 0; h < heads(); ++h) {
            gathered[h].first.resize(static_cast<size_t>(kv_.used[h]) * bytes);
            gathered[h].second.resize(static_cast<size_t>(kv_.used[h]) * bytes);
            all.push_back({.shape = kv_.shape,
                           .pool = kv_.pool(),
                           .lists = kv_.view(),
                           .head = static_cast<int32_t>(h),
                           .keys = gathered[h].first.data(),
                           .values = gathered[h].second.data()});
        }
        if (all_at_once)
            kv_.backend.gather_all(all);
        else
            for (const GatherArgs& args : all)
                kv_.backend.gather(args);
        return gathered;
    }

    void check(bool all_at_once) const
    {
        const auto bytes = static_cast<size_t>(row_bytes(kv_.type, kv_.shape.head_dim));
        const auto gathered = gather(all_at_once);
        for (size_t h = 0; h < heads(); ++h) {
            const auto order = kv_.order_of(h);
            REQUIRE(std::set<uint32_t>(order.begin(), order.end()).size() == order.size());
            REQUIRE(*std::max_element(order.begin(), order.end()) + 1 == order.size());
            const auto& list = kv_.lists[h];
            REQUIRE(list.size() == static_cast<size_t>(kv_.used[h]));
            const std::vector<std::byte>&keys = gathered[h].first, &values = gathered[h].second;
            for (size_t rank = 0; rank < list.size(); ++rank) {
                CAPTURE(h, rank);
                REQUIRE(std::memcmp(keys.data() + rank * bytes, list[rank].key.data(), bytes) == 0);
                REQUIRE(std::memcmp(values.data() + rank * bytes, list[rank].value.data(), bytes) == 0);
            }
        }
    }

    void run(int steps)
    {
        for (int step = 0; step < steps; ++step) {
            const int64_t what = pick(0, 9);
            CAPTURE(step, what);
            if (what < 3)
                prefill();
            else if (what < 6)
                decode();
            else if (what < 9)
                drop();
            else
                defragment();
            check(step % 2 == 0);
        }
    }

private:
    static constexpr int64_t capacity = 192;
    static constexpr size_t kept_stride = 300;
    using Staged = std::vector<std::vector<Row>>;

    size_t heads() const { return kv_.lists.size(); }
    int64_t pick(int64_t low, int64_t high) { return std::uniform_int_distribution<int64_t>(low, high)(random_); }

    // Writes the next token's key and value of one head into a qkv row; returns them as the pool will store them.
    Row new_token(size_t head, float* qkv, bool staged)
    {
        const HeadShape& shape = kv_.shape;
        const uint32_t token = next_token_++;
        float* key = qkv + (shape.query_heads + static_cast<int64_t>(head)) * shape.head_dim;
        float* value = key + shape.kv_heads * shape.head_dim;
        for (int64_t i = 0; i < shape.head_dim; ++i)
            key[i] = element(token, i, false), value[i] = element(token, i, true);
        if (staged) return {taken_in(kv_, key), taken_in(kv_, value)};
        return {narrowed(kv_.type, key, shape.head_dim), narrowed(kv_.type, value, shape.head_dim)};
    }

    Staged stage(int32_t rows)
    {
        std::vector<float> qkv(static_cast<size_t>(rows * kv_.shape.qkv_width()), 0.5f);
        Staged staged(heads());
        for (int32_t r = 0; r < rows; ++r)
            for (size_t h = 0; h < heads(); ++h)
                staged[h].push_back(new_token(h, qkv.data() + r * kv_.shape.qkv_width(), true));
        const Buffer input = to_device(kv_.backend, qkv);
        kv_.backend.stage({.shape = kv_.shape,
                           .qkv = input.data<float>(),
                           .rows = rows,
                           .staging = kv_.staging(),
                           .rotation = {}});
        return staged;
    }

    int32_t choose_kept(size_t head, int32_t rows, const Staged& staged, uint32_t* kept)
    {
        std::vector<Row> all = kv_.lists[head];
        all.insert(all.end(), staged[head].begin(), staged[head].end());
        std::vector<uint32_t> ranks(all.size());
        std::iota(ranks.begin(), ranks.end(), 0u);
        // Evicts either a contiguous run or single tokens anywhere.
        const auto over = static_cast<int64_t>(ranks.size()) - capacity;
        int64_t out =
            std::clamp<int64_t>(std::max<int64_t>(over, pick(-20, 60)), 0, static_cast<int64_t>(ranks.size()));
        if (pick(0, 1) == 0 && out < static_cast<int64_t>(ranks.size())) {
            const int64_t at = pick(0, static_cast<int64_t>(ranks.size()) - out);
            ranks.erase(ranks.begin() + at, ranks.begin() + at + out);
        } else {
            for (; out > 0; --out)
                ranks.erase(ranks.begin() + pick(0, static_cast<int64_t>(ranks.size()) - 1));
        }
        (void)rows;
        kv_.lists[head].clear();
        for (const uint32_t rank : ranks)
            kv_.lists[head].push_back(all[rank]);
        std::copy(ranks.begin(), ranks.end(), kept);
        return static_cast<int32_t>(ranks.size());
    }

    bool resident_;
    KvFixture kv_;
    std::mt19937 random_;
    Buffer rope_;
    uint32_t next_token_ = 1;
};

TEST_CASE("tokens keep their keys and values through any sequence of operations")
{
    for (const TestBackend& on : every_backend()) {
        const auto backend = on.open();
        for (const DType type : pool_types) {
            for (uint32_t seed = 1; seed <= (on.emulated() || at_ci_level() ? 1u : 6u); ++seed) {
                CAPTURE(on, info(type).name, seed);
                Machine(*backend, type, on.kind() != Kind::Cpu, seed).run(60);
            }
        }
    }
}

TEST_CASE("compaction does not touch a prefix that is in place")
{
    const HeadShape shape = small_shape(DType::F16);
    const std::vector<int32_t> counts(3, 10);
    std::vector<uint32_t> kept;
    for (int h = 0; h < 3; ++h)
        for (uint32_t rank = 0; rank < 10; ++rank)
            kept.push_back(rank);
    for (const TestBackend& on : every_backend()) {
        CAPTURE(on);
        const auto backend = on.open(1);
        KvFixture kv(*backend, shape, DType::F16, 128, 3);
        // Ten ranks are in the list and all are kept: compact() must not read the staging buffer, which is null.
        kv.used.assign(3, 10);
        CompactArgs args{.shape = shape,
                         .pool = kv.pool(),
                         .lists = kv.view(),
                         .staging = {},
                         .kept = kept.data(),
                         .kept_stride = 10,
                         .kept_count = counts.data()};
        backend->compact(args);
        if (on.kind() != Kind::Cpu) {
            const Buffer device_kept = to_device(*backend, kept);
            args.kept = nullptr;
            args.device_kept = device_kept.data<uint32_t>();
            backend->compact(args);
        }
        REQUIRE(kv.read(0, 0).key == std::vector<std::byte>(32, std::byte{0xFF}));
    }
}

// Returns the row with every NaN replaced by one bit pattern, because processors convert NaN to different ones.
std::vector<std::byte> with_one_nan(DType type, std::vector<std::byte> row)
{
    if (type != DType::F16 && type != DType::BF16) return row;
    const std::vector<float> floats = widened_floats(type, row.data(), std::ssize(row) / 2);
    for (size_t i = 0; i < floats.size(); ++i)
        if (std::isnan(floats[i])) row[2 * i] = row[2 * i + 1] = std::byte{0xFF};
    return row;
}

TEST_CASE("staging rounds as the scalar conversion does, on every backend")
{
    const std::vector<float> special = {0.0f,
                                        -0.0f,
                                        1.0f,
                                        65504.0f,
                                        65519.9f,
                                        65520.0f,
                                        -70000.0f,
                                        6.1e-5f,
                                        5.9e-8f,
                                        2.98e-8f,
                                        2.99e-8f,
                                        1e-30f,
                                        -1e-40f,
                                        1.00048828125f,
                                        1.00146484375f,
                                        3.3e38f,
                                        std::numeric_limits<float>::infinity(),
                                        -std::numeric_limits<float>::infinity(),
                                        std::numeric_limits<float>::quiet_NaN(),
                                        1.00390625f,
                                        1.01171875f};
    for (const TestBackend& on : every_backend()) {
        const auto backend = on.open();
        for (const DType type : staged_types) {
            for (const int32_t dim : {8, 24, 64, 80}) {
                CAPTURE(on, info(type).name, dim);
                const HeadShape shape{.query_heads = 2, .kv_heads = 2, .head_dim = dim, .scale = 1};
                const int32_t rows = on.emulated() ? 70 : 150;
                KvFixture kv(*backend, shape, type, rows, 1);
                std::mt19937 random(7);
                auto qkv = normal_floats(random, static_cast<size_t>(rows * shape.qkv_width()), 1e-4f);
                for (size_t i = 0; i < qkv.size(); i += 3)
                    qkv[i] = special[(i / 3) % special.size()];
                for (size_t i = 1; i < qkv.size(); i += 3)
                    qkv[i] *= 1e5f;
                const Buffer input = to_device(*backend, qkv);
                backend->stage({.shape = shape,
                                .qkv = input.data<float>(),
                                .rows = rows,
                                .staging = kv.staging(),
                                .rotation = {}});
                const auto bytes = static_cast<size_t>(row_bytes(type, dim));
                for (int64_t h = 0; h < 2; ++h) {
                    for (int64_t r = 0; r < rows; ++r) {
                        const float* key = qkv.data() + r * shape.qkv_width() + (2 + h) * dim;
                        const auto at = (h * kv.order_stride + r) * static_cast<int64_t>(bytes);
                        std::vector<std::byte> got(bytes);
                        backend->download(got.data(), kv.staged_keys.data() + at, bytes);
                        REQUIRE(with_one_nan(type, got) == with_one_nan(type, narrowed(type, key, dim)));
                        backend->download(got.data(), kv.staged_values.data() + at, bytes);
                        REQUIRE(with_one_nan(type, got) == with_one_nan(type, narrowed(type, key + 2 * dim, dim)));
                    }
                }
            }
        }
    }
}

// Blocks with every kind of content: zeros, one number much larger than the rest, ties between two bytes, numbers
// whose scale is too small or too large for f16, NaN and infinities.
std::vector<float> rows_to_quantise(std::mt19937& random, int64_t blocks)
{
    constexpr float nan = std::numeric_limits<float>::quiet_NaN(),
                    infinity = std::numeric_limits<float>::infinity();
    std::vector<float> x;
    for (int64_t block = 0; block < blocks; ++block) {
        constexpr float deviations[] = {1, 1e-3f, 30, 1e-6f, 2e-7f, 1e3f, 1e6f, 1e7f};
        auto numbers = normal_floats(random, 32, deviations[block % 8]);
        const auto at = static_cast<size_t>(block % 32);
        if (block % 11 == 1) std::fill(numbers.begin(), numbers.end(), block % 2 ? 0.0f : -0.0f);
        if (block % 11 == 3) numbers[at] *= 1e4f;
        if (block % 11 == 5) {
            for (size_t i = 0; i < 32; ++i)
                numbers[i] = 0.25f * (static_cast<float>(i * 13 % 255) - 127.0f) + (i % 2 ? 0.125f : -0.125f);
            numbers[at] = -0.25f * 127;
        }
        if (block % 11 == 7) numbers[at] = block % 3 == 0 ? nan : block % 3 == 1 ? infinity : -infinity;
        x.insert(x.end(), numbers.begin(), numbers.end());
    }
    return x;
}

TEST_CASE("a quantised block is as accurate as its scale allows, or NaN")
{
    std::mt19937 random(5);
    const auto x = rows_to_quantise(random, 400);
    const auto bytes = narrowed(DType::Q8_0, x.data(), std::ssize(x));
    const auto back = widened_floats(DType::Q8_0, bytes.data(), std::ssize(x));
    int numbers = 0;
    for (size_t block = 0; block < x.size(); block += 32) {
        float largest = 0;
        bool finite = true;
        for (size_t i = block; i < block + 32; ++i) {
            finite &= std::isfinite(x[i]);
            largest = std::max(largest, std::abs(x[i]));
        }
        const bool fits = finite && largest < 127 * 65504.0f;
        numbers += fits;
        // Half a step, plus the error of the scale in f16: relative, 2^-11, or absolute, 2^-25, if the scale is
        // subnormal.
        const float most = 0.501f * (largest / 127) + 127.5f * 0x1p-25f * (largest < 127 * 0x1p-14f ? 1.0f : 0.0f);
        for (size_t i = block; i < block + 32; ++i) {
            CAPTURE(block, i, x[i], back[i], largest);
            if (fits)
                REQUIRE(std::abs(back[i] - x[i]) <= most);
            else
                REQUIRE(std::isnan(back[i]));
        }
    }
    REQUIRE(numbers > 200);
    REQUIRE(numbers < 400);
}

TEST_CASE("rows are quantised as the scalar conversion does, on every backend")
{
    constexpr int32_t rows = 70, kv_heads = 2;
    for (const TestBackend& on : every_backend()) {
        const auto backend = on.open();
        for (const int32_t dim : {32, 64, 96, 128}) {
            for (const DType wide : {DType::F16, DType::BF16}) {
                CAPTURE(on, dim, info(wide).name);
                const HeadShape shape{.query_heads = kv_heads, .kv_heads = kv_heads, .head_dim = dim, .scale = 1};
                KvFixture kv(*backend, shape, DType::Q8_0, rows + 1, 4, wide);
                std::mt19937 random(static_cast<uint32_t>(dim));
                const auto qkv = rows_to_quantise(random, (rows + 1) * shape.qkv_width() / 32);
                const Buffer input = to_device(*backend, qkv);
                backend->stage({.shape = shape,
                                .qkv = input.data<float>(),
                                .rows = rows,
                                .staging = kv.staging(),
                                .rotation = {}});
                std::vector<uint32_t> kept(kv_heads * rows);
                for (size_t i = 0; i < kept.size(); ++i)
                    kept[i] = static_cast<uint32_t>(i % rows);
                const std::vector<int32_t> counts(kv_heads, rows);
                backend->compact({.shape = shape,
                                  .pool = kv.pool(),
                                  .lists = kv.view(),
                                  .staging = kv.staging(),
                                  .kept = kept.data(),
                                  .kept_stride = rows,
                                  .kept_count = counts.data()});
                kv.used = counts;
                const Buffer out(*backend, static_cast<size_t>(kv_heads * dim) * sizeof(float));
                const Buffer rope = to_device(*backend, rope_table(rows + 1, dim));
                backend->decode_attend({.shape = shape,
                                        .qkv = input.data<float>() + rows * shape.qkv_width(),
                                        .pool = kv.pool(),
                                        .lists = kv.view(),
                                        .rotation = {{rope.data<float>(), rows + 1, dim}, false},
                                        .out = out.data<float>(),
                                        .signals = {},
                                        .retrieval = {}});
                for (int64_t h = 0; h < kv_heads; ++h) {
                    for (int64_t r = 0; r <= rows; ++r) {
                        CAPTURE(h, r);
                        const float* key = qkv.data() + r * shape.qkv_width() + (kv_heads + h) * dim;
                        const float* value = key + kv_heads * dim;
                        const Row got = kv.read(static_cast<size_t>(h), r);
                        const bool staged = r < rows;
                        REQUIRE(got.key == (staged ? taken_in(kv, key) : narrowed(DType::Q8_0, key, dim)));
                        REQUIRE(got.value == (staged ? taken_in(kv, value) : narrowed(DType::Q8_0, value, dim)));
                    }
                }
            }
        }
    }
}

TEST_CASE("staging rotates keys if the pool stores rotated keys")
{
    for (const TestBackend& on : every_backend()) {
        const auto backend = on.open(1);
        for (const int32_t rotary_dim : {8, 16, 40, 48, 80}) {
            CAPTURE(on, rotary_dim);
            const HeadShape shape{.query_heads = 1, .kv_heads = 1, .head_dim = 80, .scale = 1};
            KvFixture kv(*backend, shape, DType::F32, 64, 1);
            std::mt19937 random(11);
            const auto qkv = normal_floats(random, static_cast<size_t>(9 * shape.qkv_width()));
            const Buffer input = to_device(*backend, qkv);
            const auto table = rope_table(9, rotary_dim);
            const Buffer rope = to_device(*backend, table);
            backend->stage({.shape = shape,
                            .qkv = input.data<float>(),
                            .rows = 9,
                            .staging = kv.staging(),
                            .rotation = {{rope.data<float>(), 9, rotary_dim}, true}});
            const auto got = to_host<float>(*backend, kv.staged_keys, 9 * 80);
            for (size_t r = 0; r < 9; ++r) {
                const float* key = qkv.data() + static_cast<int64_t>(r) * shape.qkv_width() + 80;
                std::vector<double> expected(key, key + 80);
                reference_rotate({table.data(), 9, rotary_dim}, static_cast<int64_t>(r), expected.data());
                for (size_t i = 0; i < 80; ++i)
                    REQUIRE(static_cast<double>(got[r * 80 + i]) == Approx(expected[i]).margin(1e-6));
            }
        }
    }
}

TEST_CASE("an upload of any size arrives, and the host may change its memory at once")
{
    for (const TestBackend& on : every_backend())
        for (const size_t words :
             {size_t{1}, (size_t{1} << 18) - 1, (size_t{1} << 18) + 1, (size_t{5} << 18) + 3}) {
            CAPTURE(on, words);
            const auto backend = on.open();
            const auto there = [&] {
                std::vector<uint32_t> host(words);
                std::iota(host.begin(), host.end(), 7u);
                Buffer buffer = to_device(*backend, host);
                std::fill(host.begin(), host.end(), 0u);
                return buffer;
            };
            std::vector<uint32_t> expected(words);
            std::iota(expected.begin(), expected.end(), 7u);
            CHECK(to_host<uint32_t>(*backend, there(), words) == expected);
#ifdef PALIMPSEST_EMULATED_CUDA
            if (!on.emulated()) continue;
            const palimpsest::tests::LateDevice slow;
            CHECK(to_host<uint32_t>(*backend, there(), words) == expected);
#endif
        }
}

} // namespace
} // namespace palimpsest::kernels
