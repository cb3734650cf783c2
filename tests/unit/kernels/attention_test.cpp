// Prefill and decode attention: accuracy against the float64 reference, and guarantees about bits.

#include <numeric>

#include "tests/support/catch.h"
#include "tests/unit/kernels/attention_case.h"

namespace palimpsest::kernels {
namespace {

using namespace test;

void check(const Case& c, const Output& got, const ReferenceAttention& expected, double most)
{
    REQUIRE(largest_error(got.out, expected.out) < most);
    if (c.wanted == 0) return;
    for (size_t h = 0; h < got.sums.size(); ++h) {
        CAPTURE(h);
        REQUIRE(largest_error(got.sums[h], expected.sums[h]) <
                (most > TestBackend::exact_attention ? 2 * most : most));
        double total = 0;
        for (const float s : got.sums[h])
            total += static_cast<double>(s);
        if (c.outside_newest < 0)
            REQUIRE(total == Approx(std::min(c.wanted, c.chunk()) * c.group).epsilon(std::max(1e-4, most)));
    }
}

// Counts may differ from the reference by the number of decisions that rounding may change.
void check_counts(const std::vector<float>& got, const std::vector<double>& expected,
                  const std::vector<double>& ties)
{
    REQUIRE(got.size() == expected.size());
    for (size_t i = 0; i < got.size(); ++i) {
        CAPTURE(i, ties[i]);
        REQUIRE(std::abs(static_cast<double>(got[i]) - expected[i]) <= ties[i] + 1e-4);
    }
}

// Rounded weights may change decisions near the threshold: besides ties, counts may differ by `most_each` per rank
// on average.
void check_rounded_counts(const std::vector<float>& got, const std::vector<double>& expected,
                          const std::vector<double>& ties, double most_each)
{
    REQUIRE(got.size() == expected.size());
    double difference = 0;
    for (size_t i = 0; i < got.size(); ++i)
        difference += std::max(0.0, std::abs(static_cast<double>(got[i]) - expected[i]) - ties[i]);
    REQUIRE(difference <= most_each * static_cast<double>(got.size()));
}

void check_every_signal(const Case& c, const Output& got, const ReferenceAttention& expected, double most)
{
    const bool rounded = most > TestBackend::exact_attention;
    const double edge = 4 * most * std::min(c.wanted, c.chunk());
    // A row that is divided by a small sum over its older ranks may have large entropies at the newest ranks.
    for (size_t h = 0; h < got.sums.size(); ++h) {
        CAPTURE(h);
        if (rounded)
            check_rounded_counts(got.low_counts[h], expected.low_counts[h], expected.low_ties[h], edge);
        else
            check_counts(got.low_counts[h], expected.low_counts[h], expected.low_ties[h]);
        REQUIRE(largest_error(got.entropies[h], expected.entropies[h]) < 5 * most);
        REQUIRE(largest_error(got.key_norms[h], expected.key_norms[h]) < 1e-6);
        REQUIRE(largest_error(got.key_similarities[h], expected.key_similarities[h]) < 3e-6);
    }
    for (size_t h = 0; h < got.head_sums.size(); ++h) {
        CAPTURE(h);
        REQUIRE(largest_error(got.head_sums[h], expected.head_sums[h]) < (rounded ? 2 * most : most));
        REQUIRE(largest_error(got.head_squares[h], expected.head_squares[h]) < (rounded ? 4 : 2) * most);
    }
    if (c.statistic == RowStatistic::Density && rounded)
        check_rounded_counts(got.row_statistics, expected.row_statistics, expected.density_ties, edge);
    else if (c.statistic == RowStatistic::Density)
        check_counts(got.row_statistics, expected.row_statistics, expected.density_ties);
    else if (c.statistic != RowStatistic::None)
        REQUIRE(largest_error(got.row_statistics, expected.row_statistics) < (rounded ? 2 * most : most));
}

double largest_of_block(const std::vector<double>& row, size_t i)
{
    const auto block = static_cast<size_t>(info(DType::Q8_0).block), first = i / block * block;
    double largest = 0;
    for (size_t j = first; j < first + block; ++j)
        largest = std::max(largest, std::abs(row[j]));
    return largest;
}

// Rows that the backend stored for the chunk must be exact, except that a rotated key may round in the other
// direction and a Q8_0 element may be off by half a step, where a step is 1/127 of the largest number in its block.
void check_stored(const Case& c, const Input& in, const Output& got)
{
    const DType type = c.new_type();
    const double ulp = type == DType::F32 ? 1e-6 : type == DType::F16 ? 1.0 / 1024 : 1.0 / 128;
    const HeadShape shape = c.shape();
    for (size_t h = 0; h < got.new_rows.size(); ++h) {
        for (size_t r = 0; r < got.new_rows[h].size(); ++r) {
            const float* key = in.qkv.data() + static_cast<int64_t>(r) * shape.qkv_width() +
                               (shape.query_heads + static_cast<int64_t>(h)) * c.head_dim;
            std::vector<double> expected(key, key + c.head_dim);
            const auto position = static_cast<int64_t>(r);
            if (c.keys_rotated) reference_rotate(in.rotation(in.table.data(), c).table, position, expected.data());
            const auto stored = widened(type, got.new_rows[h][r].key.data(), c.head_dim);
            for (size_t i = 0; i < stored.size(); ++i) {
                const double margin = type == DType::Q8_0 ? 0.501 / 127 * largest_of_block(expected, i) : 1e-6;
                REQUIRE(stored[i] == Approx(expected[i]).epsilon(type == DType::Q8_0 ? 0 : ulp).margin(margin));
            }
            REQUIRE(got.new_rows[h][r].value == narrowed(type, key + c.kv_heads * c.head_dim, c.head_dim));
        }
    }
}

// Every signal, with group sizes that fill panels, that do not, and that exceed a vector.
std::vector<Case> signal_cases(bool decode, int count, uint32_t seed)
{
    std::mt19937 random(seed);
    const auto pick = [&](std::initializer_list<int32_t> from) {
        return *(from.begin() + static_cast<std::ptrdiff_t>(random() % from.size()));
    };
    std::vector<Case> cases = random_cases(decode, count, seed);
    for (Case& c : cases) {
        c.every_signal = true;
        c.group = pick({1, 2, 3, 4, 5, 7, 8, 12});
        c.head_dim = c.rotary_dim = pick({16, 32});
        c.rows = decode ? 0 : pick({1, 5, 33, 64, 100});
        c.wanted = pick({1, 5, 32, SignalRequest::all});
        c.outside_newest = pick({-1, -1, 0, 4, 40, 2000});
        c.statistic = static_cast<RowStatistic>(random() % 4);
        fit_blocks(c);
    }
    return cases;
}

// Compares every case with the reference on every backend; emulated GPUs run one case in `one_in`.
void hold_to_reference(const std::vector<Case>& cases, size_t one_in = 1)
{
    const auto backends = every_backend();
    for (size_t i = 0; i < cases.size(); ++i) {
        const Case& c = cases[i];
        const Input in(c);
        ReferenceAttention expected;
        for (const TestBackend& on : backends) {
            if (!takes(on, i, one_in)) continue;
            CAPTURE(c, on);
            const Output got = attend(*on.open(), c, in, c.seed);
            // A rotated key may round differently on another target, so the reference is computed from the rows
            // that this backend stored.
            if (expected.out.empty() || c.keys_rotated) expected = reference(c, in, got);
            check_stored(c, in, got);
            const double most = on.attention_error(c.new_type(), c.head_dim, c.rows == 0);
            check(c, got, expected, most);
            if (c.every_signal) check_every_signal(c, got, expected, most);
        }
    }
}

TEST_CASE("prefill attention equals the reference on every backend")
{
    hold_to_reference(random_cases(false, 24, 1), 12);
}

TEST_CASE("decode attention equals the reference on every backend")
{
    hold_to_reference(random_cases(true, 60, 2), 12);
}

TEST_CASE("prefill and decode of every type, width, group and rotation equal the reference on every backend")
{
    hold_to_reference(chosen_cases(false));
    hold_to_reference(chosen_cases(true));
}

TEST_CASE("every signal of prefill equals the reference on every backend")
{
    hold_to_reference(signal_cases(false, 48, 11), 12);
}

TEST_CASE("every signal of decode equals the reference on every backend")
{
    hold_to_reference(signal_cases(true, 48, 12), 8);
}

TEST_CASE("attention with windows and soft caps equals the reference on every backend")
{
    hold_to_reference(window_cases(false, 64, 21), 16);
    hold_to_reference(window_cases(true, 64, 22), 16);
    hold_to_reference(chosen_window_cases(false));
    hold_to_reference(chosen_window_cases(true));
}

TEST_CASE("signals of keys have the same bits with and without other signals, and change no attention")
{
    for (const bool decoding : {false, true}) {
        const auto cases = chosen_window_cases(decoding);
        for (size_t i = 0; i < cases.size(); ++i) {
            Case only = cases[i], none = cases[i];
            only.every_signal = none.every_signal = false;
            only.only_keys = true;
            none.wanted = 0;
            const Input in(only);
            for (const TestBackend& on : every_backend()) {
                if (!takes(on, i, 2)) continue;
                CAPTURE(only, on);
                const auto backend = on.open();
                const Output norms = attend(*backend, only, in, 1), all = attend(*backend, cases[i], in, 1);
                REQUIRE(same_lists(norms.key_norms, all.key_norms));
                REQUIRE(same_lists(norms.key_similarities, all.key_similarities));
                REQUIRE(same_bits(norms.out, attend(*backend, none, in, 1).out));
                for (size_t h = 0; h < in.lists.size(); ++h)
                    REQUIRE(std::count(norms.key_norms[h].begin(), norms.key_norms[h].end(), 0.0f) == only.used[h]);
            }
        }
    }
}

TEST_CASE("a window over a very long list equals the reference")
{
    Case c{.group = 2,
           .kv_heads = 1,
           .head_dim = 16,
           .rotary_dim = 16,
           .type = DType::F16,
           .rows = 20,
           .used = {16500},
           .wanted = 20,
           .seed = 5,
           .every_signal = true,
           .window = 300};
    hold_to_reference({c}, 2);
    c.rows = 0;
    hold_to_reference({c});
}

// Overwrites the list's rows before rank `end` with NaN.
void forget_before(KvFixture& kv, size_t head, int32_t end)
{
    const std::vector<std::byte> nan(static_cast<size_t>(row_bytes(kv.type, kv.shape.head_dim)), std::byte{0xFF});
    const auto order = kv.order_of(head);
    for (size_t rank = 0; rank < static_cast<size_t>(end); ++rank) {
        kv.write(kv.keys, head, order[rank], nan);
        kv.write(kv.values, head, order[rank], nan);
    }
}

TEST_CASE("ranks before every row's window are not read")
{
    const auto backends = every_backend();
    for (const bool decoding : {false, true}) {
        auto cases = chosen_window_cases(decoding);
        for (size_t i = 0; i < cases.size(); ++i) {
            Case& c = cases[i];
            std::fill(c.used.begin(), c.used.end(), 180);
            const Input in(c);
            for (const TestBackend& on : backends) {
                if (!takes(on, i)) continue;
                CAPTURE(c, on);
                const auto backend = on.open();
                Output whole = attend(*backend, c, in, 1);
                Output spoiled = attend(*backend, c, in, 1, [&](KvFixture& kv) {
                    for (size_t head = 0; head < in.lists.size(); ++head)
                        forget_before(kv, head, 181 - c.window);
                });
                whole.key_similarities = spoiled.key_similarities = {}; // of all keys, whatever the window is
                REQUIRE(same_bits(spoiled, whole));
                for (const auto& sums : whole.sums)
                    REQUIRE(std::count(sums.begin(), sums.end(), 0.0f) >= 181 - c.window);
            }
        }
    }
}

// A layer may evict what is older than its window: it then decodes the same bits as a layer that keeps and masks
// these ranks.
TEST_CASE("decode with a window has the bits of decode with lists that are cut to the window")
{
    auto cases = chosen_window_cases(true);
    const auto random = window_cases(true, 24, 23);
    cases.insert(cases.end(), random.begin(), random.end());
    for (size_t i = 0; i < cases.size(); ++i) {
        const Case& c = cases[i];
        if (c.window == 0) continue;
        const Input in(c);
        Case cut = c;
        cut.window = 0;
        Input rest = in;
        for (size_t head = 0; head < in.lists.size(); ++head) {
            cut.used[head] = std::min(c.used[head], c.window - 1);
            rest.lists[head].erase(rest.lists[head].begin(), rest.lists[head].end() - cut.used[head]);
        }
        for (const TestBackend& on : every_backend()) {
            if (!takes(on, i, 4)) continue;
            CAPTURE(c, on);
            const auto backend = on.open();
            REQUIRE(same_bits(attend(*backend, cut, rest, 1).out, attend(*backend, c, in, 1).out));
        }
    }
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
                        .seed = 5}},
                      2);
}

// Lists with more ranks than a page table in shared memory has room for, and with several bundles of splits, the
// last one not full.
std::vector<Case> long_decode_cases()
{
    std::vector<Case> cases;
    for (const int32_t dim : {64, 16})
        cases.push_back({.group = 3,
                         .kv_heads = 2,
                         .head_dim = dim,
                         .rotary_dim = dim,
                         .type = dim == 64 ? DType::F16 : DType::F32,
                         .keys_rotated = false,
                         .rows = 0,
                         .used = {16500, 1100},
                         .wanted = 1,
                         .seed = 31,
                         .every_signal = true,
                         .statistic = RowStatistic::Entropy});
    return cases;
}

TEST_CASE("decode attention over very long lists equals the reference")
{
    hold_to_reference(long_decode_cases());
}

// Enough rows that a warp processes two bands (kernels/cuda/attention/tensor_attention.cu) on a GPU with few
// multiprocessors.
std::vector<Case> banded_cases()
{
    std::vector<Case> cases;
    for (const DType type : {DType::F16, DType::BF16, DType::Q8_0})
        for (const int32_t dim : {64, 128})
            cases.push_back({.group = 4,
                             .kv_heads = 2,
                             .head_dim = dim,
                             .rotary_dim = dim,
                             .type = type,
                             .rows = 100,
                             .used = {70, 3},
                             .seed = 41,
                             .window = type == DType::F16 ? 90 : 0});
    return cases;
}

TEST_CASE("prefill attention of many rows equals the reference and has the bits of few rows")
{
    for (const TestBackend& on : every_backend()) {
        if (on.kind() == Kind::Cpu) continue;
        const std::vector<Case> cases = banded_cases();
        for (size_t i = 0; i < cases.size(); ++i) {
            if (!takes(on, i, 2)) continue;
            const Case& c = cases[i];
            CAPTURE(c, on);
            const Input in(c);
            const Output whole = attend(*on.open(), c, in, 1);
            check(c, whole, reference(c, in, whole), on.attention_error(c.new_type(), c.head_dim, false));
            Case few = c;
            few.rows = 9;
            const auto begin = attend(*on.open(), few, in, 1).out;
            REQUIRE(same_bits(begin,
                              {whole.out.begin(), whole.out.begin() + static_cast<std::ptrdiff_t>(begin.size())}));
        }
    }
}

// Group sizes for which tensor cores compute the signals, and one (3) for which they do not.
std::vector<Case> rank_signal_cases()
{
    std::vector<Case> cases;
    for (const int32_t group : {1, 2, 4, 8, 3})
        for (const int32_t dim : {64, 128})
            cases.push_back({.group = group,
                             .kv_heads = 2,
                             .head_dim = dim,
                             .rotary_dim = dim,
                             .type = group % 2 == dim / 128 ? DType::F16 : DType::BF16,
                             .rows = 33,
                             .used = {90, 3},
                             .wanted = group == 2 ? 20 : 33,
                             .seed = 51,
                             .every_signal = true,
                             .by_rank = true,
                             .window = group == 4 && dim == 64 ? 40 : 0});
    return cases;
}

double difference(const std::vector<std::vector<float>>& a, const std::vector<std::vector<float>>& b)
{
    double sum = 0;
    for (size_t h = 0; h < a.size(); ++h)
        for (size_t i = 0; i < a[h].size(); ++i)
            sum += std::abs(static_cast<double>(a[h][i]) - static_cast<double>(b[h][i]));
    return sum;
}

// Signals of single query heads are summed without tensor cores, from the same 16-bit queries and keys: only
// decisions within rounding of the threshold may differ.
TEST_CASE("signals by rank do not depend on whether signals of query heads are requested")
{
    for (const TestBackend& on : every_backend()) {
        if (on.kind() == Kind::Cpu) continue;
        const std::vector<Case> cases = rank_signal_cases();
        for (size_t i = 0; i < cases.size(); ++i) {
            if (!takes(on, i, 2)) continue;
            const Case& c = cases[i];
            CAPTURE(c, on);
            const Input in(c);
            Case all = c;
            all.by_rank = false;
            const Output got = attend(*on.open(), c, in, 1), expected = attend(*on.open(), all, in, 1);
            check_every_signal(c, got, reference(c, in, got), on.attention_error(c.new_type(), c.head_dim, false));
            CHECK(difference(got.sums, expected.sums) < 1e-3);
            CHECK(difference(got.entropies, expected.entropies) < 1e-2);
            CHECK(difference(got.low_counts, expected.low_counts) <= 2);
            double counted = 0;
            for (const auto& counts : got.low_counts)
                counted = std::accumulate(counts.begin(), counts.end(), counted);
            CHECK(counted > 100);
        }
    }
}

TEST_CASE("the bits of attention depend on neither threads nor the rows that hold the tokens")
{
    const auto backends = every_backend();
    auto cases = random_cases(false, 12, 3);
    const auto decode = random_cases(true, 24, 4);
    cases.insert(cases.end(), decode.begin(), decode.end());
    for (const auto& more : {signal_cases(false, 8, 13), window_cases(false, 8, 14), window_cases(true, 8, 15)})
        cases.insert(cases.end(), more.begin(), more.end());
    for (Case& c : cases) {
        c.wanted = 3;
        const Input in(c);
        const Output first = attend(*cpu(1), c, in, 1);
        for (int threads = at_ci_level() ? 2 : 1; threads <= 3; ++threads) {
            for (uint32_t layout = 1; layout <= 2; ++layout) {
                CAPTURE(c, threads, layout);
                REQUIRE(same_bits(attend(*cpu(threads), c, in, layout), first));
            }
        }
    }
    for (const bool decoding : {false, true}) {
        auto chosen = chosen_cases(decoding);
        const auto windows = chosen_window_cases(decoding);
        chosen.insert(chosen.end(), windows.begin(), windows.end());
        for (size_t i = 0; i < chosen.size(); ++i) {
            const Input in(chosen[i]);
            for (const TestBackend& on : backends) {
                if (!takes(on, i, 5)) continue;
                CAPTURE(chosen[i], on);
                const auto backend = on.open();
                REQUIRE(same_bits(attend(*backend, chosen[i], in, 1), attend(*backend, chosen[i], in, 2)));
            }
        }
    }
}

#ifdef PALIMPSEST_EMULATED_CUDA
TEST_CASE("attention does not depend on the order in which threads and blocks run")
{
    const auto backend = tests::open_emulated_cuda(90);
    for (const bool decoding : {false, true}) {
        auto cases = chosen_cases(decoding);
        const auto windows = chosen_window_cases(decoding);
        cases.insert(cases.end(), windows.begin(), windows.end());
        for (size_t i = 0; i < cases.size(); ++i) {
            const Case& c = cases[i];
            if (at_ci_level() && i % 3 != 0) continue;
            const Input in(c);
            const Output ascending = attend(*backend, c, in, 1);
            const tests::DescendingOrder order;
            CAPTURE(c);
            REQUIRE(same_bits(attend(*backend, c, in, 1), ascending));
        }
    }
}
#endif

TEST_CASE("requesting signals changes no bit of the output")
{
    const auto backends = every_backend();
    auto cases = signal_cases(false, 16, 6);
    const auto windows = window_cases(false, 8, 16);
    cases.insert(cases.end(), windows.begin(), windows.end());
    for (size_t i = 0; i < cases.size(); ++i) {
        const Case& c = cases[i];
        const Input in(c);
        for (const TestBackend& on : backends) {
            if (!takes(on, i, 8)) continue;
            CAPTURE(c, on);
            const auto backend = on.open(1);
            Case none = c, sums = c;
            none.every_signal = sums.every_signal = false;
            none.wanted = 0;
            sums.wanted = SignalRequest::all;
            const auto without = attend(*backend, none, in, 1).out;
            REQUIRE(same_bits(attend(*backend, sums, in, 1).out, without));
            REQUIRE(same_bits(attend(*backend, c, in, 1).out, without));
        }
    }
}

// Therefore, a stream that is no longer than its budget has the same bits as with a full cache.
TEST_CASE("a row's bits do not depend on later rows of the chunk")
{
    const auto backends = every_backend();
    auto cases = random_cases(false, 16, 7);
    const auto windows = window_cases(false, 16, 17);
    cases.insert(cases.end(), windows.begin(), windows.end());
    for (size_t i = 0; i < cases.size(); ++i) {
        Case& c = cases[i];
        c.rows = 100;
        const Input in(c);
        for (const TestBackend& on : backends) {
            if (!takes(on, i, 8)) continue;
            const auto backend = on.open();
            const auto whole = attend(*backend, c, in, 1).out;
            Case part = c;
            for (const int32_t rows : {1, 3, 37, 64}) {
                if (on.emulated() && rows != 1 && rows != 37) continue;
                CAPTURE(c, on, rows);
                part.rows = rows;
                const auto begin = attend(*backend, part, in, 1).out;
                REQUIRE(
                    same_bits(begin, {whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(begin.size())}));
            }
        }
    }
}

TEST_CASE("a row's bits do not depend on whether a rank is cached or in the chunk")
{
    const auto backends = every_backend();
    auto cases = random_cases(false, 12, 8);
    const auto windows = window_cases(false, 12, 18);
    cases.insert(cases.end(), windows.begin(), windows.end());
    for (size_t i = 0; i < cases.size() * backends.size(); ++i) {
        const TestBackend& on = backends[i / cases.size()];
        if (!takes(on, i % cases.size(), 6)) continue;
        Case& c = cases[i % cases.size()];
        if (c.type == DType::Q8_0) continue; // rows in the chunk are quantised only when they are cached
        c.rows = 100;
        c.keys_rotated = false;
        const Input in(c);
        const auto backend = on.open(1);
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
        CAPTURE(c, on);
        const auto end = attend(*backend, later, rest, 2).out;
        REQUIRE(same_bits(end, {whole.out.end() - static_cast<std::ptrdiff_t>(end.size()), whole.out.end()}));
    }
}

// Kernels must skip later tokens by their index: multiplied by a weight of 0, a NaN remains NaN.
TEST_CASE("a key that is NaN does not affect the rows before its token")
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
    Input in(c), spoiled(c);
    const HeadShape shape = c.shape();
    float* last_key = spoiled.qkv.data() + 49 * shape.qkv_width() + shape.query_heads * c.head_dim;
    std::fill_n(last_key, c.head_dim, std::numeric_limits<float>::quiet_NaN());
    for (const TestBackend& on : every_backend()) {
        CAPTURE(on);
        const auto backend = on.open(1);
        const auto before = attend(*backend, c, in, 1).out, after = attend(*backend, c, spoiled, 1).out;
        const auto row = static_cast<std::ptrdiff_t>(shape.query_heads * c.head_dim);
        REQUIRE(same_bits({after.begin(), after.end() - row}, {before.begin(), before.end() - row}));
        REQUIRE(std::isnan(after.back()));
    }
}

} // namespace
} // namespace palimpsest::kernels
