// Attention to a part of a list: page bounds, page selection by bounds, and selection by attention mass.

#include "tests/support/catch.h"
#include "tests/unit/kernels/attention_case.h"

namespace palimpsest::kernels {
namespace {

using namespace test;

std::vector<Case> retrieval_cases(int count, uint32_t seed)
{
    std::mt19937 random(seed);
    const auto pick = [&](std::initializer_list<int32_t> from) {
        return *(from.begin() + static_cast<std::ptrdiff_t>(random() % from.size()));
    };
    std::vector<Case> cases = random_cases(true, count, seed);
    for (Case& c : cases) {
        c.retrieve = true;
        c.group = pick({1, 2, 3, 4, 7, 8});
        c.head_dim = c.rotary_dim = pick({8, 24, 64});
        c.retrieval.pages.page = pick({16, 16, 5, 8, 32, 64});
        c.retrieval.tokens = pick({40, 100, 300});
        c.retrieval.max_pages = std::max(3, c.retrieval.tokens / c.retrieval.pages.page);
        for (int32_t& used : c.used)
            used = pick({0, 1, 39, 40, 99, 100, 128, 250, 511, 512, 900, 1300});
        c.every_signal = true;
        c.wanted = 1;
        fit_blocks(c);
    }
    return cases;
}

// Scales the token's queries, key and value up, so that a few ranks hold most of the attention mass, as in a
// trained model.
Input peaked(const Case& c)
{
    Input in(c);
    for (float& x : in.qkv)
        x *= 1.5f;
    return in;
}

void hold_to_reference(const std::vector<Case>& cases, size_t one_in)
{
    const auto backends = every_backend();
    int decided = 0, tried = 0;
    for (size_t i = 0; i < cases.size(); ++i) {
        const Case& c = cases[i];
        const Input in = peaked(c);
        for (const TestBackend& on : backends) {
            if (!takes(on, i, one_in)) continue;
            CAPTURE(c, on);
            const Output got = attend(*on.open(), c, in, c.seed);
            const ReferenceAttention expected = reference(c, in, got);
            ++tried;
            if (expected.margin < 1e-4) continue;
            ++decided;
            const double most = on.attention_error(c.new_type(), c.head_dim, true);
            REQUIRE(largest_error(got.out, expected.out) < most);
            for (size_t h = 0; h < got.sums.size(); ++h) {
                REQUIRE(largest_error(got.sums[h], expected.sums[h]) < most);
                REQUIRE(largest_error(got.entropies[h], expected.entropies[h]) < 5 * most);
            }
            for (size_t h = 0; h < got.head_sums.size(); ++h) {
                REQUIRE(largest_error(got.head_sums[h], expected.head_sums[h]) < most);
                for (size_t rank = 0; rank < got.head_sums[h].size(); ++rank)
                    REQUIRE((got.head_sums[h][rank] == 0 || expected.head_sums[h][rank] > 0));
            }
        }
    }
    REQUIRE(decided * 2 > tried);
}

TEST_CASE("attention to the best retrieval pages equals the reference on every backend")
{
    hold_to_reference(retrieval_cases(48, 21), 8);
}

TEST_CASE("attention to the ranks with most of the mass equals the reference on every backend")
{
    auto cases = retrieval_cases(48, 22);
    for (Case& c : cases)
        c.retrieval.top_p = c.seed % 3 == 0 ? 0.5 : c.seed % 3 == 1 ? 0.85 : 0.97;
    hold_to_reference(cases, 7);
}

// The lists have more retrieval pages, and more ranks are read, than a thread block has threads.
TEST_CASE("attention to a part of long lists equals the reference on every backend")
{
    std::vector<Case> cases = retrieval_cases(6, 25);
    for (size_t i = 0; i < cases.size(); ++i) {
        Case& c = cases[i];
        std::fill(c.used.begin(), c.used.end(), 3000 + static_cast<int32_t>(i));
        c.retrieval.pages.page = 8;
        c.retrieval.tokens = 1200;
        c.retrieval.max_pages = 150;
        c.retrieval.top_p = i % 3 == 2 ? 0.5 : 0.0;
    }
    hold_to_reference(cases, 1);
}

TEST_CASE("the bits of attention with retrieval depend on neither threads nor pool pages")
{
    for (Case& c : retrieval_cases(12, 23)) {
        c.retrieval.top_p = c.seed % 2 ? 0.85 : 0.0;
        const Input in = peaked(c);
        const Output first = attend(*cpu(1), c, in, 1);
        for (const int threads : {2, 3}) {
            CAPTURE(c, threads);
            REQUIRE(same_bits(attend(*cpu(threads), c, in, static_cast<uint32_t>(threads)), first));
        }
    }
}

TEST_CASE("attention to a list within the retrieval budget has the bits of attention without retrieval")
{
    const auto backends = every_backend();
    const auto cases = retrieval_cases(12, 24);
    for (size_t i = 0; i < cases.size(); ++i) {
        Case c = cases[i], plain = c;
        const Input in = peaked(c);
        plain.retrieve = false;
        plain.retrieval = {};
        for (const TestBackend& on : backends) {
            if (!takes(on, i, 6)) continue;
            CAPTURE(c, on);
            const auto backend = on.open();
            const Output all = attend(*backend, plain, in, 1);
            c.retrieval.tokens = c.max_used() + 1;
            REQUIRE(same_bits(attend(*backend, c, in, 1).out, all.out));
            c.retrieval.tokens = 1;
            c.retrieval.max_pages = c.max_used() / c.retrieval.pages.page + 1;
            REQUIRE(same_bits(attend(*backend, c, in, 1).out, all.out));
        }
    }
}

// Overwrites the retrieval pages that were not selected with NaN: the result must not change.
void read_what_was_chosen(const TestBackend& on, const Case& c)
{
    const Input in = peaked(c);
    const auto backend = on.open();
    Output before = attend(*backend, c, in, 1);
    const ReferenceAttention expected = reference(c, in, before);
    if (expected.margin < 1e-4) return;
    Output after = attend(*backend, c, in, 1, [&](KvFixture& kv) {
        const auto page = static_cast<size_t>(c.retrieval.pages.page);
        for (size_t head = 0; head < expected.pages.size(); ++head) {
            const auto& pages = expected.pages[head];
            std::vector<Row> rows = kv.lists[head];
            for (size_t rank = 0; rank < rows.size(); ++rank) {
                if (std::binary_search(pages.begin(), pages.end(), static_cast<uint32_t>(rank / page))) continue;
                std::fill(rows[rank].key.begin(), rows[rank].key.end(), std::byte{0xFF});
                std::fill(rows[rank].value.begin(), rows[rank].value.end(), std::byte{0xFF});
            }
            kv.fill(head, rows, false);
        }
    });
    before.key_similarities = after.key_similarities = {}; // of all keys, selected or not
    CAPTURE(c, on);
    REQUIRE(same_bits(before, after));
}

TEST_CASE("retrieval pages that are not selected are not read")
{
    const auto backends = every_backend();
    const auto cases = retrieval_cases(24, 25);
    for (size_t i = 0; i < cases.size(); ++i)
        for (const TestBackend& on : backends)
            if (takes(on, i, 6)) read_what_was_chosen(on, cases[i]);
}

// All keys are equal: all retrieval pages and all ranks of a list have equal scores.
struct Ties {
    Ties()
    {
        c.kv_heads = 1;
        c.head_dim = c.rotary_dim = 16;
        c.keys_rotated = true;
        c.rows = 0;
        c.used = {159};
        c.wanted = 1;
        c.every_signal = true;
        c.retrieve = true;
        c.retrieval = {.pages = {.page = 16}, .tokens = 64, .max_pages = 4};
    }
    Output attended(Backend& backend)
    {
        Input in(c);
        const Row row = in.lists[0][0];
        std::fill(in.lists[0].begin(), in.lists[0].end(), row);
        // The token's own key equals the list's; row 0 of the table does not rotate it.
        const auto key = widened(c.type, row.key.data(), c.head_dim);
        std::copy(key.begin(), key.end(), in.qkv.begin() + c.shape().query_heads * c.head_dim);
        return attend(backend, c, in, 1);
    }
    Case c;
};

TEST_CASE("among retrieval pages with equal scores, the lower ones are read, and the last page always")
{
    for (const TestBackend& on : every_backend()) {
        const std::vector<float> sums = Ties().attended(*on.open(1)).sums[0];
        for (size_t rank = 0; rank < sums.size(); ++rank) {
            CAPTURE(on, rank);
            CHECK((sums[rank] > 0) == (rank < 48 || rank >= 144));
        }
    }
}

TEST_CASE("among ranks with equal weights, the lower ones are chosen until they hold the mass")
{
    Ties ties;
    ties.c.retrieval.top_p = 0.5;
    for (const TestBackend& on : every_backend()) {
        const std::vector<float> sums = ties.attended(*on.open(1)).sums[0];
        for (size_t rank = 0; rank < sums.size(); ++rank) {
            CAPTURE(on, rank);
            CHECK(sums[rank] == Approx(rank < 32 ? 1.0 / 32 : 0.0).margin(1e-7)); // half of the 48 + 16 ranks read
        }
    }
}

std::vector<double> plain_bounds(const Case& c, const Input& in, size_t head, size_t page)
{
    const auto dim = static_cast<size_t>(c.head_dim), ranks = static_cast<size_t>(c.retrieval.pages.page);
    std::vector<double> bounds(2 * dim);
    for (size_t rank = page * ranks; rank < std::min((page + 1) * ranks, in.lists[head].size()); ++rank) {
        std::vector<double> key = widened(c.type, in.lists[head][rank].key.data(), c.head_dim);
        if (!c.keys_rotated)
            reference_rotate(in.rotation(in.table.data(), c).table, static_cast<int64_t>(rank), key.data());
        for (size_t i = 0; i < dim; ++i) {
            const bool begins = rank == page * ranks;
            bounds[i] = begins ? key[i] : std::min(bounds[i], key[i]);
            bounds[dim + i] = begins ? key[i] : std::max(bounds[dim + i], key[i]);
        }
    }
    return bounds;
}

TEST_CASE("page bounds are the least and greatest key elements, updated only from a rank on")
{
    const auto backends = every_backend();
    const auto cases = retrieval_cases(24, 26);
    for (size_t i = 0; i < cases.size(); ++i) {
        const Case& c = cases[i];
        const Input in(c);
        for (const TestBackend& on : backends) {
            if (!takes(on, i, 5)) continue;
            CAPTURE(c, on);
            const auto backend = on.open();
            KvFixture kv(*backend, c.shape(), c.type, c.max_used() + 1, c.seed);
            for (size_t h = 0; h < in.lists.size(); ++h)
                kv.fill(h, in.lists[h], false);
            const Buffer table = to_device(*backend, in.table);
            const int64_t page = c.retrieval.pages.page, stride = c.max_used() / page + 2;
            const auto row = static_cast<size_t>(2 * c.head_dim);
            constexpr float untouched = -777.0f;
            const Buffer bounds =
                to_device(*backend, std::vector<float>(static_cast<size_t>(c.kv_heads * stride) * row, untouched));
            const int64_t first = c.seed % 2 ? 0 : 70;
            backend->bound_pages({.shape = c.shape(),
                                  .pool = kv.pool(),
                                  .lists = kv.view(),
                                  .rotation = in.rotation(table.data<float>(), c),
                                  .first = first,
                                  .pages = {bounds.data<float>(), stride, c.retrieval.pages.page}});
            const auto all = to_host<float>(*backend, bounds, static_cast<size_t>(c.kv_heads * stride) * row);
            for (int64_t at = 0; at < c.kv_heads * stride; ++at) {
                const int64_t head = at / stride, p = at % stride;
                const auto from = all.begin() + static_cast<std::ptrdiff_t>(row) * at;
                const std::vector<float> got(from, from + static_cast<std::ptrdiff_t>(row));
                CAPTURE(head, p);
                const int64_t used = c.used[static_cast<size_t>(head)];
                if (used <= first || (p + 1) * page <= first || p * page >= used)
                    REQUIRE(got == std::vector<float>(row, untouched));
                else
                    REQUIRE(largest_error(got, plain_bounds(c, in, static_cast<size_t>(head),
                                                            static_cast<size_t>(p))) < 1e-5);
            }
        }
    }
}

} // namespace
} // namespace palimpsest::kernels
