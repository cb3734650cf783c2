// Prefill and decode attention against the float64 reference, and the promises about bits.

#include "kernels/cpu/simd_target.h"
#include "kernels/reference/reference_attention.h"
#include "tests/support/catch.h"
#include "tests/unit/kernels/kv_fixture.h"

namespace palimpsest::kernels {
namespace {

using namespace test;

struct Case {
    int32_t group = 1, kv_heads = 2, head_dim = 64, rotary_dim = 64;
    DType type = DType::F32;
    bool keys_rotated = false;
    int32_t rows = 1; // 0: a decoded token
    std::vector<int32_t> used;
    int32_t wanted = 0;
    uint32_t seed = 1;

    HeadShape shape() const
    {
        return {.query_heads = group * kv_heads,
                .kv_heads = kv_heads,
                .head_dim = head_dim,
                .scale = 1.0f / std::sqrt(static_cast<float>(head_dim))};
    }
    int32_t chunk() const { return std::max(rows, 1); }
    int32_t most_used() const { return *std::max_element(used.begin(), used.end()); }
};

std::ostream& operator<<(std::ostream& out, const Case& c)
{
    out << "group " << c.group << ", kv heads " << c.kv_heads << ", dim " << c.head_dim << ", rotary "
        << c.rotary_dim << ", " << info(c.type).name << (c.keys_rotated ? ", original" : ", contiguous")
        << ", rows " << c.rows << ", wanted " << c.wanted << ", seed " << c.seed << ", used";
    for (const int32_t u : c.used)
        out << ' ' << u;
    return out;
}

// The numbers of a case, the same for every backend and every physical layout.
struct Input {
    explicit Input(const Case& c) : table(rope_table(c.most_used() + c.chunk() + 16, c.rotary_dim))
    {
        std::mt19937 random(c.seed);
        const HeadShape shape = c.shape();
        qkv = normal_floats(random, static_cast<size_t>(c.chunk() * shape.qkv_width()), 1.5f);
        for (const int32_t used : c.used) {
            std::vector<Row> list;
            for (int32_t rank = 0; rank < used; ++rank) {
                const auto key = normal_floats(random, static_cast<size_t>(c.head_dim), 1.5f);
                const auto value = normal_floats(random, static_cast<size_t>(c.head_dim));
                list.push_back(
                    {narrowed(c.type, key.data(), c.head_dim), narrowed(c.type, value.data(), c.head_dim)});
            }
            lists.push_back(list);
        }
    }

    Rotation rotation(const float* where, const Case& c) const
    {
        return {{where, static_cast<int64_t>(table.size()) / c.rotary_dim, c.rotary_dim}, c.keys_rotated};
    }

    std::vector<float> table, qkv;
    std::vector<std::vector<Row>> lists; // [kv_heads][used]
};

struct Output {
    std::vector<float> out;
    std::vector<std::vector<float>> sums;   // [kv_heads][used + chunk]
    std::vector<std::vector<Row>> new_rows; // [kv_heads][chunk], as the backend stored them
    bool operator==(const Output&) const = default;
};

// Bytes, so that NaN equals itself and -0 differs from 0.
bool same_bits(const std::vector<float>& a, const std::vector<float>& b)
{
    return a.size() == b.size() && (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0);
}

bool same_bits(const Output& a, const Output& b)
{
    return same_bits(a.out, b.out) && std::equal(a.sums.begin(), a.sums.end(), b.sums.begin(), b.sums.end(),
                                                 [](const auto& x, const auto& y) { return same_bits(x, y); });
}

std::vector<Row> staged_rows(const KvFixture& kv, size_t head, int32_t rows)
{
    const auto bytes = static_cast<size_t>(row_bytes(kv.type, kv.shape.head_dim));
    std::vector<Row> result;
    for (int32_t r = 0; r < rows; ++r) {
        const size_t at = (head * static_cast<size_t>(kv.order_stride) + static_cast<size_t>(r)) * bytes;
        Row row{std::vector<std::byte>(bytes), std::vector<std::byte>(bytes)};
        kv.backend.download(row.key.data(), kv.staged_keys.data() + at, bytes);
        kv.backend.download(row.value.data(), kv.staged_values.data() + at, bytes);
        result.push_back(row);
    }
    return result;
}

// `layout` draws the pages and, for decode, the order.
Output attend(Backend& backend, const Case& c, const Input& in, uint32_t layout)
{
    const HeadShape shape = c.shape();
    const int32_t chunk = c.chunk();
    KvFixture kv(backend, shape, c.type, c.most_used() + std::max(c.rows, 40), layout);
    for (size_t h = 0; h < in.lists.size(); ++h)
        kv.fill(h, in.lists[h], c.rows == 0);

    const Buffer qkv = to_device(backend, in.qkv), table = to_device(backend, in.table);
    const Rotation rotation = in.rotation(table.data<float>(), c);
    const int64_t stride = kv.order_stride + 5;
    const float nan = std::numeric_limits<float>::quiet_NaN();
    const auto out_floats = static_cast<size_t>(chunk * shape.query_heads * shape.head_dim);
    const Buffer out = to_device(backend, std::vector<float>(out_floats, nan));
    const Buffer sums = to_device(backend, std::vector<float>(static_cast<size_t>(c.kv_heads * stride), nan));

    Output result;
    if (c.rows > 0) {
        backend.stage({.shape = shape,
                       .qkv = qkv.data<float>(),
                       .rows = c.rows,
                       .type = c.type,
                       .staging = kv.staging(),
                       .rotation = rotation});
        backend.attend({.shape = shape,
                        .qkv = qkv.data<float>(),
                        .rows = c.rows,
                        .pool = kv.pool(),
                        .lists = kv.view(),
                        .staging = kv.staging(),
                        .rotation = rotation,
                        .out = out.data<float>(),
                        .signals = {.rows = c.wanted, .sums = sums.data<float>(), .stride = stride}});
    } else {
        backend.decode_attend({.shape = shape,
                               .qkv = qkv.data<float>(),
                               .pool = kv.pool(),
                               .lists = kv.view(),
                               .rotation = rotation,
                               .out = out.data<float>(),
                               .signals = {.rows = c.wanted, .sums = sums.data<float>(), .stride = stride},
                               .retrieval = {}});
    }
    result.out = to_host<float>(backend, out, out_floats);
    const auto all_sums = to_host<float>(backend, sums, static_cast<size_t>(c.kv_heads * stride));
    for (size_t h = 0; h < in.lists.size(); ++h) {
        const auto from = all_sums.begin() + static_cast<std::ptrdiff_t>(h) * stride;
        result.sums.emplace_back(from, from + c.used[h] + chunk);
        if (c.rows > 0)
            result.new_rows.push_back(staged_rows(kv, h, c.rows));
        else
            result.new_rows.push_back({kv.read(h, kv.order_of(h)[static_cast<size_t>(c.used[h])])});
    }
    return result;
}

ReferenceAttention reference(const Case& c, const Input& in, const Output& stored)
{
    ReferenceAttentionArgs args;
    args.shape = c.shape();
    args.qkv = in.qkv.data();
    args.rows = c.chunk();
    args.used = c.used;
    for (size_t h = 0; h < in.lists.size(); ++h) {
        std::vector<double> keys, values;
        for (const auto* rows : {&in.lists[h], &stored.new_rows[h]}) {
            for (const Row& row : *rows) {
                const auto key = widened(c.type, row.key.data(), c.head_dim);
                const auto value = widened(c.type, row.value.data(), c.head_dim);
                keys.insert(keys.end(), key.begin(), key.end());
                values.insert(values.end(), value.begin(), value.end());
            }
        }
        args.keys.push_back(keys);
        args.values.push_back(values);
    }
    args.rotation = in.rotation(in.table.data(), c);
    args.signals.rows = c.wanted;
    return reference_attention(args);
}

double largest_error(const std::vector<float>& got, const std::vector<double>& expected)
{
    double worst = got.size() == expected.size() ? 0.0 : 1e30;
    for (size_t i = 0; i < got.size() && worst < 1e30; ++i) {
        const double error = std::abs(static_cast<double>(got[i]) - expected[i]) / (1.0 + std::abs(expected[i]));
        worst = error <= worst ? worst : std::isnan(error) ? 1e30 : error;
    }
    return worst;
}

void check(const Case& c, const Output& got, const ReferenceAttention& expected)
{
    REQUIRE(largest_error(got.out, expected.out) < 2e-5);
    if (c.wanted == 0) return;
    for (size_t h = 0; h < got.sums.size(); ++h) {
        CAPTURE(h);
        REQUIRE(largest_error(got.sums[h], expected.sums[h]) < 2e-5);
        double total = 0;
        for (const float s : got.sums[h])
            total += static_cast<double>(s);
        REQUIRE(total == Approx(std::min(c.wanted, c.chunk()) * c.group).epsilon(1e-4));
    }
}

// Rows the backend stored for the chunk: exact, except that a rotated key may round the other way.
void check_stored(const Case& c, const Input& in, const Output& got)
{
    const double ulp = c.type == DType::F32 ? 1e-6 : c.type == DType::F16 ? 1.0 / 1024 : 1.0 / 128;
    const HeadShape shape = c.shape();
    for (size_t h = 0; h < got.new_rows.size(); ++h) {
        for (size_t r = 0; r < got.new_rows[h].size(); ++r) {
            const float* key = in.qkv.data() + static_cast<int64_t>(r) * shape.qkv_width() +
                               (shape.query_heads + static_cast<int64_t>(h)) * c.head_dim;
            std::vector<double> expected(key, key + c.head_dim);
            const auto position = static_cast<int64_t>(r);
            if (c.keys_rotated) reference_rotate(in.rotation(in.table.data(), c).table, position, expected.data());
            const auto stored = widened(c.type, got.new_rows[h][r].key.data(), c.head_dim);
            for (size_t i = 0; i < stored.size(); ++i)
                REQUIRE(stored[i] == Approx(expected[i]).epsilon(ulp).margin(1e-6));
            REQUIRE(got.new_rows[h][r].value == narrowed(c.type, key + c.kv_heads * c.head_dim, c.head_dim));
        }
    }
}

std::vector<Case> random_cases(bool decode, int count, uint32_t seed)
{
    std::mt19937 random(seed);
    const auto pick = [&](std::initializer_list<int32_t> from) {
        return *(from.begin() + static_cast<std::ptrdiff_t>(random() % from.size()));
    };
    std::vector<Case> cases;
    for (int i = 0; i < count; ++i) {
        Case c;
        c.group = pick({1, 2, 3, 4, 8});
        c.kv_heads = pick({1, 2, 3});
        c.head_dim = pick({8, 24, 32, 64, 80, 128});
        c.rotary_dim = random() % 3 == 0 ? c.head_dim / 2 : c.head_dim;
        c.type = static_cast<DType>(i % 3);
        c.keys_rotated = random() % 3 == 0;
        c.rows = decode ? 0 : pick({1, 2, 7, 64, 100});
        c.wanted = pick({0, 1, 5, SignalRequest::all});
        for (int32_t h = 0; h < c.kv_heads; ++h)
            c.used.push_back(pick({0, 1, 15, 16, 17, 63, 64, 129, 257, 300}) + (decode ? pick({0, 260, 900}) : 0));
        c.seed = seed * 1000 + static_cast<uint32_t>(i);
        cases.push_back(c);
    }
    return cases;
}

std::unique_ptr<Backend> cpu(int threads, const std::string& target = "")
{
    return open_backend({.device = "cpu", .threads = threads, .simd = target});
}

void hold_to_reference(const std::vector<Case>& cases)
{
    for (const Case& c : cases) {
        const Input in(c);
        ReferenceAttention expected;
        for (const std::string& target : simd_targets()) {
            CAPTURE(c, target);
            const auto backend = cpu(2, target);
            const Output got = attend(*backend, c, in, c.seed);
            // Stored rows may differ between targets where a rotated key rounds the other way.
            if (expected.out.empty() || c.keys_rotated) expected = reference(c, in, got);
            check_stored(c, in, got);
            check(c, got, expected);
        }
    }
    pin_simd_target("");
}

TEST_CASE("prefill attention equals the reference on every target")
{
    hold_to_reference(random_cases(false, 24, 1));
}

TEST_CASE("decode attention equals the reference on every target")
{
    hold_to_reference(random_cases(true, 60, 2));
}

TEST_CASE("prefill attention over very long lists equals the reference")
{
    hold_to_reference({{.group = 2,
                        .kv_heads = 1,
                        .head_dim = 16,
                        .rotary_dim = 16,
                        .type = DType::F32,
                        .keys_rotated = false,
                        .rows = 20,
                        .used = {16500},
                        .wanted = 20,
                        .seed = 5}});
}

TEST_CASE("bits depend on neither threads nor the rows tokens lie in")
{
    auto cases = random_cases(false, 12, 3);
    const auto decode = random_cases(true, 24, 4);
    cases.insert(cases.end(), decode.begin(), decode.end());
    for (Case& c : cases) {
        c.wanted = 3;
        const Input in(c);
        const Output first = attend(*cpu(1), c, in, 1);
        for (int threads = 1; threads <= 3; ++threads) {
            for (uint32_t layout = 1; layout <= 2; ++layout) {
                CAPTURE(c, threads, layout);
                REQUIRE(same_bits(attend(*cpu(threads), c, in, layout), first));
            }
        }
    }
}

TEST_CASE("asking for sums changes no bit of the output")
{
    for (Case& c : random_cases(false, 12, 6)) {
        CAPTURE(c);
        const Input in(c);
        const auto backend = cpu(1);
        c.wanted = 0;
        const auto without = attend(*backend, c, in, 1).out;
        c.wanted = SignalRequest::all;
        REQUIRE(same_bits(attend(*backend, c, in, 1).out, without));
    }
}

// A stream no longer than its budget must give the full cache's bits (architecture.md, 2).
TEST_CASE("a row's bits do not depend on the rows of the chunk behind it")
{
    for (Case& c : random_cases(false, 16, 7)) {
        c.rows = 100;
        const Input in(c);
        for (const std::string& target : simd_targets()) {
            const auto backend = cpu(2, target);
            const auto whole = attend(*backend, c, in, 1).out;
            Case part = c;
            for (const int32_t rows : {1, 3, 37, 64}) {
                CAPTURE(c, target, rows);
                part.rows = rows;
                const auto begin = attend(*backend, part, in, 1).out;
                REQUIRE(
                    same_bits(begin, {whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(begin.size())}));
            }
        }
    }
    pin_simd_target("");
}

TEST_CASE("a row's bits do not depend on whether a rank is cached or in the chunk")
{
    for (Case& c : random_cases(false, 12, 8)) {
        c.rows = 100;
        c.keys_rotated = false;
        const Input in(c);
        const auto backend = cpu(1);
        const Output whole = attend(*backend, c, in, 1);
        constexpr int32_t first = 41;
        Case later = c;
        later.rows -= first;
        Input rest = in;
        rest.qkv.erase(rest.qkv.begin(), rest.qkv.begin() + first * c.shape().qkv_width());
        for (size_t h = 0; h < in.lists.size(); ++h) {
            later.used[h] += first;
            const auto& rows = whole.new_rows[h];
            rest.lists[h].insert(rest.lists[h].end(), rows.begin(), rows.begin() + first);
        }
        CAPTURE(c);
        const auto end = attend(*backend, later, rest, 2).out;
        REQUIRE(same_bits(end, {whole.out.end() - static_cast<std::ptrdiff_t>(end.size()), whole.out.end()}));
    }
}

// Later tokens are masked by index, never by value.
TEST_CASE("a key that is not a number does not reach the rows before its token")
{
    Case c{.group = 2,
           .kv_heads = 1,
           .head_dim = 32,
           .rotary_dim = 32,
           .type = DType::F32,
           .keys_rotated = false,
           .rows = 50,
           .used = {30},
           .wanted = 0,
           .seed = 9};
    Input in(c);
    const auto backend = cpu(1);
    const auto before = attend(*backend, c, in, 1).out;
    const HeadShape shape = c.shape();
    float* last_key = in.qkv.data() + 49 * shape.qkv_width() + shape.query_heads * c.head_dim;
    std::fill_n(last_key, c.head_dim, std::numeric_limits<float>::quiet_NaN());
    const auto after = attend(*backend, c, in, 1).out;
    const auto row = static_cast<std::ptrdiff_t>(shape.query_heads * c.head_dim);
    REQUIRE(same_bits({after.begin(), after.end() - row}, {before.begin(), before.end() - row}));
    REQUIRE(std::isnan(after.back()));
}

} // namespace
} // namespace palimpsest::kernels
