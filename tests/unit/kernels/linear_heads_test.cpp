// prepare_heads compared with float64: norms per head or over all heads, and the query factor.

#include <ostream>

#include "kernels/reference/reference_linear.h"
#include "tests/unit/kernels/linear_case.h"

namespace palimpsest::kernels::test {
namespace {

struct HeadCase {
    int32_t query_heads = 4, kv_heads = 2, head_dim = 64, rows = 3;
    bool query_norm = true, key_norm = true, across_heads = false;
    float query_factor = 1.0f;
    int32_t query_factor_dims = 0;

    HeadShape shape() const { return {.query_heads = query_heads, .kv_heads = kv_heads, .head_dim = head_dim}; }
};

std::ostream& operator<<(std::ostream& out, const HeadCase& c)
{
    return out << "heads " << c.query_heads << " over " << c.kv_heads << " of " << c.head_dim << ", rows " << c.rows
               << ", norms " << c.query_norm << c.key_norm << (c.across_heads ? " across heads" : "") << ", factor "
               << c.query_factor << " of " << c.query_factor_dims;
}

std::vector<HeadCase> head_cases()
{
    std::mt19937 random(seed);
    const auto pick = [&](std::initializer_list<int32_t> from) {
        return *(from.begin() + static_cast<std::ptrdiff_t>(random() % from.size()));
    };
    std::vector<HeadCase> cases;
    for (int i = 0; i < 24; ++i) {
        HeadCase c;
        c.kv_heads = pick({1, 2, 3});
        c.query_heads = c.kv_heads * pick({1, 4, 7});
        c.head_dim = pick({2, 24, 64, 80, 128, 256});
        c.rows = pick({1, 2, 19, 64});
        c.query_norm = i % 4 != 1;
        c.key_norm = i % 4 != 2;
        c.across_heads = i % 3 == 0;
        if (i % 2) c.query_factor = 1.25f;
        c.query_factor_dims = pick({c.head_dim, c.head_dim / 2, 0});
        cases.push_back(c);
    }
    return cases;
}

struct HeadInput {
    explicit HeadInput(const HeadCase& c)
    {
        std::mt19937 random(seed);
        qkv = random_floats(random, c.rows * c.shape().qkv_width(), 3.0f);
        query_norm = random_floats(random, int64_t{c.query_heads} * c.head_dim);
        key_norm = random_floats(random, int64_t{c.kv_heads} * c.head_dim);
    }
    PrepareHeadsArgs args(const HeadCase& c)
    {
        return {.shape = c.shape(),
                .qkv = qkv.data(),
                .rows = c.rows,
                .query_norm = {c.query_norm ? query_norm.data() : nullptr, 1e-6f},
                .key_norm = {c.key_norm ? key_norm.data() : nullptr, 1e-5f},
                .across_heads = c.across_heads,
                .query_factor = c.query_factor,
                .query_factor_dims = c.query_factor_dims};
    }
    std::vector<float> qkv, query_norm, key_norm;
};

// Runs prepare_heads on `rows` rows from `first` on, with arguments in host memory. Returns these rows.
std::vector<float> prepared(Backend& backend, const HeadCase& c, HeadInput& in, int32_t first, int32_t rows)
{
    const auto floats = static_cast<int64_t>(rows) * c.shape().qkv_width();
    PrepareHeadsArgs args = in.args(c);
    const Placed qkv(backend, args.qkv + first * c.shape().qkv_width(), floats),
        query_norm(backend, args.query_norm.weight, static_cast<int64_t>(in.query_norm.size())),
        key_norm(backend, args.key_norm.weight, static_cast<int64_t>(in.key_norm.size()));
    args.qkv = qkv.data();
    args.rows = rows;
    args.query_norm.weight = query_norm.data();
    args.key_norm.weight = key_norm.data();
    backend.prepare_heads(args);
    std::vector<float> got(static_cast<size_t>(floats));
    backend.download(got.data(), qkv.data(), got.size() * sizeof(float));
    return got;
}

TEST_CASE("prepare_heads agrees with float64 and does not change values", "[heads]")
{
    const auto cases = head_cases();
    for (const TestBackend& on : every_backend()) {
        const auto backend = on.open();
        for (const HeadCase& c : cases) {
            INFO(c << ", on " << on << ", seed " << seed);
            HeadInput in(c);
            const auto expected = reference::prepare_heads(in.args(c));
            const auto got = prepared(*backend, c, in, 0, c.rows);
            CHECK(largest_error(got, expected) < 4e-6);
            const auto width = static_cast<size_t>(c.shape().qkv_width());
            const auto values = width - static_cast<size_t>(c.kv_heads) * static_cast<size_t>(c.head_dim);
            for (size_t i = 0; i < got.size(); ++i)
                if (i % width >= values) REQUIRE(got[i] == in.qkv[i]);
        }
    }
}

TEST_CASE("the bits of a row's heads depend on neither other rows nor threads", "[heads]")
{
    const auto cases = head_cases();
    for (size_t i = 0; i < cases.size(); ++i) {
        const HeadCase& c = cases[i];
        HeadInput in(c);
        for (const TestBackend& on : every_backend()) {
            if (!takes(on, i, 4)) continue;
            const auto backend = on.open(3), alone = on.open(1);
            const auto whole = prepared(*backend, c, in, 0, c.rows);
            const int32_t first = c.rows / 2, rows = c.rows - first;
            const auto part = prepared(*alone, c, in, first, rows);
            INFO(c << ", on " << on);
            CHECK(std::equal(part.begin(), part.end(), whole.end() - static_cast<std::ptrdiff_t>(part.size())));
        }
    }
}

} // namespace
} // namespace palimpsest::kernels::test
