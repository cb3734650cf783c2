// Staging, compaction, dropping and straightening against lists of tokens: values must follow their tokens.

#include <set>

#include "kernels/reference/reference_attention.h"
#include "tests/support/catch.h"
#include "tests/unit/kernels/backends.h"
#include "tests/unit/kernels/kv_fixture.h"

namespace palimpsest::kernels {
namespace {

using namespace test;

constexpr DType pool_types[] = {DType::F32, DType::F16, DType::BF16};

HeadShape small_shape()
{
    return {.query_heads = 6, .kv_heads = 3, .head_dim = 16, .scale = 0.25f};
}

// A token's key and value, exact in every type.
float element(uint32_t token, int64_t i, bool value)
{
    return static_cast<float>((token * 37u + static_cast<uint32_t>(i) * 11u + (value ? 5u : 0u)) % 251u) - 125.0f;
}

// Runs random operations on a backend and on the fixture's lists.
class Machine {
public:
    Machine(Backend& backend, DType type, uint32_t seed)
        : kv_(backend, small_shape(), type, capacity, seed), random_(seed),
          rope_(to_device(backend, rope_table(capacity + 1, small_shape().head_dim)))
    {
    }

    void prefill()
    {
        straighten();
        const auto rows = static_cast<int32_t>(pick(0, 70));
        const Staged staged = stage(rows);
        std::vector<uint32_t> kept(heads() * kept_stride);
        std::vector<int32_t> counts;
        for (size_t h = 0; h < heads(); ++h)
            counts.push_back(choose_kept(h, rows, staged, kept.data() + h * kept_stride));
        kv_.backend.compact({.shape = kv_.shape,
                             .pool = kv_.pool(),
                             .lists = kv_.view(),
                             .staging = kv_.staging(),
                             .kept = kept.data(),
                             .kept_stride = kept_stride,
                             .kept_count = counts.data()});
        kv_.used = counts;
    }

    void decode()
    {
        if (*std::max_element(kv_.used.begin(), kv_.used.end()) >= kv_.order_stride) return;
        const HeadShape& shape = kv_.shape;
        std::vector<float> qkv(static_cast<size_t>(shape.qkv_width()), 0.5f);
        for (size_t h = 0; h < heads(); ++h)
            kv_.lists[h].push_back(new_token(h, qkv.data()));
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

    void straighten()
    {
        kv_.backend.straighten({.shape = kv_.shape, .pool = kv_.pool(), .lists = kv_.view()});
        for (size_t h = 0; h < heads(); ++h) {
            const auto order = kv_.order_of(h);
            for (size_t rank = 0; rank < order.size(); ++rank)
                REQUIRE(order[rank] == rank);
        }
    }

    // One list after the other, or all at once.
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
                straighten();
            check(step % 2 == 0);
        }
    }

private:
    static constexpr int64_t capacity = 192;
    static constexpr size_t kept_stride = 300;
    using Staged = std::vector<std::vector<Row>>;

    size_t heads() const { return kv_.lists.size(); }
    int64_t pick(int64_t low, int64_t high) { return std::uniform_int_distribution<int64_t>(low, high)(random_); }

    // Writes the next token's key and value of one head into a qkv row.
    Row new_token(size_t head, float* qkv)
    {
        const HeadShape& shape = kv_.shape;
        const uint32_t token = next_token_++;
        float* key = qkv + (shape.query_heads + static_cast<int64_t>(head)) * shape.head_dim;
        float* value = key + shape.kv_heads * shape.head_dim;
        for (int64_t i = 0; i < shape.head_dim; ++i)
            key[i] = element(token, i, false), value[i] = element(token, i, true);
        return {narrowed(kv_.type, key, shape.head_dim), narrowed(kv_.type, value, shape.head_dim)};
    }

    Staged stage(int32_t rows)
    {
        std::vector<float> qkv(static_cast<size_t>(rows * kv_.shape.qkv_width()), 0.5f);
        Staged staged(heads());
        for (int32_t r = 0; r < rows; ++r)
            for (size_t h = 0; h < heads(); ++h)
                staged[h].push_back(new_token(h, qkv.data() + r * kv_.shape.qkv_width()));
        const Buffer input = to_device(kv_.backend, qkv);
        kv_.backend.stage({.shape = kv_.shape,
                           .qkv = input.data<float>(),
                           .rows = rows,
                           .type = kv_.type,
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
        // Sometimes a policy takes out a run, sometimes single tokens anywhere.
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

    KvFixture kv_;
    std::mt19937 random_;
    Buffer rope_;
    uint32_t next_token_ = 1;
};

TEST_CASE("values follow their tokens through any sequence of operations")
{
    for (const TestBackend& on : every_backend()) {
        const auto backend = on.open();
        for (const DType type : pool_types) {
            for (uint32_t seed = 1; seed <= (on.emulated() ? 1u : 6u); ++seed) {
                CAPTURE(on, info(type).name, seed);
                Machine(*backend, type, seed).run(60);
            }
        }
    }
}

TEST_CASE("compaction leaves a prefix that is in place alone")
{
    const HeadShape shape = small_shape();
    const std::vector<int32_t> counts(3, 10);
    std::vector<uint32_t> kept;
    for (int h = 0; h < 3; ++h)
        for (uint32_t rank = 0; rank < 10; ++rank)
            kept.push_back(rank);
    for (const TestBackend& on : every_backend()) {
        CAPTURE(on);
        const auto backend = on.open(1);
        KvFixture kv(*backend, shape, DType::F16, 128, 3);
        // Nothing was ever written: keeping ranks 0..9 of 10 must not even look at staging.
        kv.used.assign(3, 10);
        backend->compact({.shape = shape,
                          .pool = kv.pool(),
                          .lists = kv.view(),
                          .staging = {},
                          .kept = kept.data(),
                          .kept_stride = 10,
                          .kept_count = counts.data()});
        REQUIRE(kv.read(0, 0).key == std::vector<std::byte>(32, std::byte{0xFF}));
    }
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
        for (const DType type : pool_types) {
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
                                .type = type,
                                .staging = kv.staging(),
                                .rotation = {}});
                const auto bytes = static_cast<size_t>(row_bytes(type, dim));
                for (int64_t h = 0; h < 2; ++h) {
                    for (int64_t r = 0; r < rows; ++r) {
                        const float* key = qkv.data() + r * shape.qkv_width() + (2 + h) * dim;
                        const auto at = (h * kv.order_stride + r) * static_cast<int64_t>(bytes);
                        std::vector<std::byte> got(bytes);
                        backend->download(got.data(), kv.staged_keys.data() + at, bytes);
                        REQUIRE(got == narrowed(type, key, dim));
                        backend->download(got.data(), kv.staged_values.data() + at, bytes);
                        REQUIRE(got == narrowed(type, key + 2 * dim, dim));
                    }
                }
            }
        }
    }
}

TEST_CASE("staging rotates keys where they are stored rotated")
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
                            .type = DType::F32,
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

} // namespace
} // namespace palimpsest::kernels
