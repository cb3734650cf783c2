// A cache of 8.5 bits per number: what is quantised, when, and that it does not change afterwards.

#include <cstring>
#include <random>

#include "engine/cache/kv_cache.h"
#include "engine/policy/named/registry.h"
#include "engine/session/session_setup.h"
#include "kernels/base/convert.h"
#include "kernels/base/error.h"
#include "tests/support/catch.h"
#include "tests/unit/session/session_fixture.h"

using namespace palimpsest;
using namespace palimpsest::engine;
using namespace palimpsest::tests;
using kernels::DType;

namespace {

RandomModelShape blocks_fit(DType stored = DType::F32)
{
    return {.layers = 3, .dim = 64, .head_dim = 32, .type = stored};
}

SessionOptions options_of(const std::string& policy, DType type)
{
    SessionOptions o;
    o.policy = PolicySpec::parse(policy);
    o.budget = policy == "full" ? 600 : 70;
    o.chunk = 24;
    o.kv_type = type;
    return o;
}

using Bytes = std::vector<std::byte>;

Bytes converted(DType from, std::span<const std::byte> row, DType to, int32_t dim)
{
    std::vector<float> floats(static_cast<size_t>(dim));
    kernels::to_f32(from, row.data(), floats.data(), dim);
    Bytes bytes(static_cast<size_t>(kernels::row_bytes(to, dim)));
    kernels::from_f32(to, floats.data(), bytes.data(), dim);
    return bytes;
}

// Rows that are already rounded to the type, so that storing them changes nothing.
Bytes random_rows(DType type, int64_t rows, int32_t dim, uint32_t seed)
{
    std::mt19937 random(seed);
    std::normal_distribution<float> normal;
    std::vector<float> floats(static_cast<size_t>(rows * dim));
    for (float& x : floats)
        x = normal(random);
    Bytes bytes(static_cast<size_t>(rows * kernels::row_bytes(type, dim)));
    kernels::from_f32(type, floats.data(), bytes.data(), std::ssize(floats));
    return bytes;
}

// Lists that end within a page, at its end, and in a later page, and an empty one.
class FilledCache {
public:
    explicit FilledCache(kernels::Backend& backend)
        : cache({.layers = 2,
                 .heads = {.query_heads = 2, .kv_heads = 2, .head_dim = dim, .scale = 1},
                 .type = DType::Q8_0,
                 .staged_rows = 8,
                 .list_budget = {200, 200, 200, 200},
                 .total_slots = 800},
                backend)
    {
        for (size_t i = 0; i < lengths.size(); ++i) {
            keys.push_back(random_rows(DType::Q8_0, lengths[i], dim, static_cast<uint32_t>(2 * i)));
            values.push_back(random_rows(DType::Q8_0, lengths[i], dim, static_cast<uint32_t>(2 * i + 1)));
            cache.write(layer(i), head(i), keys[i], values[i]);
        }
    }

    static int32_t layer(size_t list) { return static_cast<int32_t>(list / 2); }
    static int32_t head(size_t list) { return static_cast<int32_t>(list % 2); }
    bool is_in(KvCache& other) const
    {
        bool same = true;
        for (size_t i = 0; i < lengths.size(); ++i) {
            Bytes k, v;
            other.read(layer(i), head(i), k, v);
            same &= k == keys[i] && v == values[i];
        }
        return same;
    }

    static constexpr int32_t dim = 96;
    std::vector<uint32_t> lengths = {40, 64, 131, 0};
    std::vector<Bytes> keys, values;
    KvCache cache;
};

} // namespace

TEST_CASE("a quantised cache gives back what was written, and so do its copies")
{
    const auto backend = kernels::open_backend({.device = "cpu", .threads = 1, .simd = ""});
    FilledCache filled(*backend);
    CHECK(filled.is_in(filled.cache));
    KvCache clone = filled.cache.clone();
    CHECK(filled.is_in(clone));
    CacheShape larger = filled.cache.shape();
    larger.list_budget = {300, 260, 200, 200};
    larger.total_slots = 960;
    KvCache reshaped = filled.cache.reshaped(larger);
    CHECK(filled.is_in(reshaped));
}

TEST_CASE("an entry that is stored is quantised again, and its neighbours are not")
{
    const auto backend = kernels::open_backend({.device = "cpu", .threads = 1, .simd = ""});
    FilledCache filled(*backend);
    constexpr auto dim = static_cast<size_t>(FilledCache::dim);
    const auto bytes = static_cast<size_t>(kernels::row_bytes(DType::Q8_0, FilledCache::dim));
    std::vector<float> key(dim), value(dim);
    for (const uint32_t rank : {0u, 63u, 64u, 130u}) {
        const std::span<std::byte> own_key = std::span(filled.keys[2]).subspan(rank * bytes, bytes);
        const std::span<std::byte> own_value = std::span(filled.values[2]).subspan(rank * bytes, bytes);
        filled.cache.load_entry(1, 0, rank, kernels::Phase::Decode, key, value);
        std::vector<float> expected(dim);
        kernels::to_f32(DType::Q8_0, own_key.data(), expected.data(), FilledCache::dim);
        CHECK(key == expected);
        kernels::to_f32(DType::Q8_0, own_value.data(), expected.data(), FilledCache::dim);
        CHECK(value == expected);
        for (size_t i = 0; i < dim; ++i) {
            key[i] = key[i] * 0.7f + 0.01f;
            value[i] = value[i] * 1.3f - 0.02f;
        }
        filled.cache.store_entry(1, 0, rank, kernels::Phase::Decode, key, value);
        kernels::from_f32(DType::Q8_0, key.data(), own_key.data(), FilledCache::dim);
        kernels::from_f32(DType::Q8_0, value.data(), own_value.data(), FilledCache::dim);
    }
    CHECK(filled.is_in(filled.cache));
}

// In the first layer, keys and values depend on the tokens alone, whatever the cache type.
TEST_CASE("kept rows are quantised once, from the 16-bit staging buffer")
{
    const auto [stored, wide] = GENERATE(std::pair(DType::F32, DType::F16), std::pair(DType::F16, DType::F16),
                                         std::pair(DType::BF16, DType::BF16));
    const auto positions = GENERATE(PositionMode::Contiguous, PositionMode::Original);
    const auto model = load_random(blocks_fit(stored));
    const auto text = random_text(400);
    std::vector<ListAtRest> lists[2];
    for (const bool quantised : {false, true}) {
        SessionOptions o = options_of("streaming", quantised ? DType::Q8_0 : wide);
        o.positions = positions;
        Session session(model, o);
        session.feed(text);
        lists[quantised] = session.state().lists;
    }
    const int32_t dim = model->config().head_dim;
    const auto wide_bytes = static_cast<size_t>(kernels::row_bytes(wide, dim));
    const auto bytes = static_cast<size_t>(kernels::row_bytes(DType::Q8_0, dim));
    for (size_t head = 0; head < 2; ++head) {
        const ListAtRest &wider = lists[false][head], &own = lists[true][head];
        REQUIRE(own.tokens.stream == wider.tokens.stream);
        REQUIRE(own.tokens.size() >= 60);
        for (size_t rank = 0; rank < own.tokens.size(); ++rank) {
            CAPTURE(kernels::info(stored).name, head, rank);
            const auto expected = [&](const Bytes& rows) {
                return converted(wide, std::span(rows).subspan(rank * wide_bytes, wide_bytes), DType::Q8_0, dim);
            };
            const auto got = [&](const Bytes& rows) {
                return Bytes(rows.begin() + static_cast<std::ptrdiff_t>(rank * bytes),
                             rows.begin() + static_cast<std::ptrdiff_t>((rank + 1) * bytes));
            };
            REQUIRE(got(own.keys) == expected(wider.keys));
            REQUIRE(got(own.values) == expected(wider.values));
        }
    }
}

TEST_CASE("under every policy a quantised session gives the same bits for any cuts of the input and any number of "
          "threads")
{
    const auto text = random_text(330);
    for (const PolicyInfo& policy : policies()) {
        CAPTURE(policy.name);
        const SessionOptions o = options_of(policy.name, DType::Q8_0);
        Session whole(load_random(blocks_fit(), 1), o), parts(load_random(blocks_fit(), 3), o);
        whole.feed(text);
        const auto model = load_random(blocks_fit());
        Session before(model, o);
        before.feed(std::span(text).first(120));
        const auto forked = before.fork();
        before.feed(random_text(50, 9));
        forked->feed(std::span(text).subspan(120));
        size_t at = 0;
        for (const size_t part : {1u, 50u, 24u, 7u})
            parts.feed(std::span(text).subspan(at, part)), at += part;
        parts.feed(std::span(text).subspan(at));
        const Outcome expected = outcome_of(whole);
        CHECK(outcome_of(*forked) == expected);
        CHECK(outcome_of(parts) == expected);
    }
}

TEST_CASE("a quantised cache changes logits little, and its rows take 17/32 of the bytes of f16")
{
    const auto model = load_random({.layers = 2, .dim = 128, .head_dim = 64, .weight_scale = 0.15f});
    const auto text = random_text(500);
    std::vector<float> logits[2];
    Telemetry telemetry[2];
    for (const bool quantised : {false, true}) {
        SessionOptions o = options_of("streaming", quantised ? DType::Q8_0 : DType::F16);
        o.budget = 400;
        Session session(model, o);
        session.feed(text);
        logits[quantised] = session.logits();
        telemetry[quantised] = session.telemetry();
    }
    CHECK(telemetry[true].full_cache_bytes * 32 == telemetry[false].full_cache_bytes * 17);
    constexpr uint64_t lists = 2 * 2, rows = 7 * 64, dim = 64; // 400 entries and the next one need seven pages
    CHECK(telemetry[false].cache_bytes - telemetry[true].cache_bytes ==
          lists * rows * 2 * (dim * 2 - dim * 34 / 32));
    double largest = 0, off = 0;
    for (size_t i = 0; i < logits[0].size(); ++i) {
        largest = std::max(largest, std::abs(static_cast<double>(logits[0][i])));
        off = std::max(off, std::abs(static_cast<double>(logits[0][i] - logits[1][i])));
    }
    CAPTURE(off, largest);
    CHECK(off > 0);
    CHECK(off < 0.02 * largest);
}

TEST_CASE("q8 is refused if a head is not a whole number of blocks")
{
    const auto model = load_random({.head_dim = 24});
    try {
        set_up(options_of("treekv", DType::Q8_0), model->config(), {});
        FAIL("it was accepted");
    } catch (const Error& error) {
        CHECK(error.kind() == ErrorKind::Usage);
        CHECK(error.code() == ErrorCode::ValueNotPossible);
        CHECK(error.text().english().find("24") != std::string::npos);
        CHECK(error.remedy().english().find("f16") != std::string::npos);
    }
}
