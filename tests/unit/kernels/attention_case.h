// An attention call: its input, its output on a backend, and the expected output.
#pragma once

#include <functional>
#include <limits>
#include <memory>
#include <ostream>
#include <random>
#include <string>
#include <vector>

#include "kernels/reference/reference_attention.h"
#include "tests/unit/kernels/backends.h"
#include "tests/unit/kernels/kv_fixture.h"

namespace palimpsest::kernels::test {

struct Case {
    int32_t group = 1, kv_heads = 2, head_dim = 64, rotary_dim = 64;
    DType type = DType::F32, wide = DType::F16; // of the pool; of the staging buffer, if the pool is quantised
    bool keys_rotated = false;
    int32_t rows = 1; // 0: one decoded token
    std::vector<int32_t> used;
    int32_t wanted = 0;
    uint32_t seed = 1;
    bool every_signal = false; // requests every signal, not only sums
    bool only_keys = false;
    bool by_rank = false; // with every_signal: leaves out the signals of single query heads
    int32_t outside_newest = -1;
    RowStatistic statistic = RowStatistic::None;
    bool retrieve = false; // a decoded token attends to selected retrieval pages; row = rank in all lists
    PageRetrieval retrieval{};
    int32_t window = 0;
    float soft_cap = 0;

    HeadShape shape() const
    {
        return {.query_heads = group * kv_heads,
                .kv_heads = kv_heads,
                .head_dim = head_dim,
                .scale = 1.0f / std::sqrt(static_cast<float>(head_dim)),
                .soft_cap = soft_cap};
    }
    // The type in which the chunk's own rows are stored.
    DType new_type() const { return rows > 0 ? staging_type(type, wide) : type; }
    int32_t chunk() const { return std::max(rows, 1); }
    int32_t max_used() const { return *std::max_element(used.begin(), used.end()); }
};

inline std::ostream& operator<<(std::ostream& out, const Case& c)
{
    out << "group " << c.group << ", kv heads " << c.kv_heads << ", dim " << c.head_dim << ", rotary "
        << c.rotary_dim << ", " << info(c.type).name << " after " << info(c.new_type()).name
        << (c.keys_rotated ? ", original" : ", contiguous") << ", rows " << c.rows << ", wanted " << c.wanted
        << ", seed " << c.seed << ", used";
    for (const int32_t u : c.used)
        out << ' ' << u;
    if (c.every_signal)
        out << ", every signal, outside newest " << c.outside_newest << ", statistic "
            << static_cast<int>(c.statistic);
    if (c.only_keys) out << ", only signals of keys";
    if (c.retrieve)
        out << ", page " << c.retrieval.pages.page << ", tokens " << c.retrieval.tokens << ", pages "
            << c.retrieval.max_pages << ", top_p " << c.retrieval.top_p;
    if (c.window > 0) out << ", window " << c.window;
    if (c.soft_cap > 0) out << ", soft cap " << c.soft_cap;
    return out;
}

// The input numbers of a case: the same on every backend, and for every assignment of ranks to rows.
struct Input {
    explicit Input(const Case& c) : table(rope_table(c.max_used() + c.chunk() + 16, c.rotary_dim))
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

using Lists = std::vector<std::vector<float>>; // [kv_heads] or [query_heads][used + chunk]

struct Output {
    std::vector<float> out;
    Lists sums, low_counts, entropies, key_norms, key_similarities, head_sums,
        head_squares; // all but `sums` are empty unless every signal is requested
    std::vector<float> row_statistics;
    std::vector<std::vector<Row>> new_rows; // [kv_heads][chunk], as the backend stored them
};

// Compares bytes, so that NaN equals itself and -0 differs from 0.
inline bool same_bits(const std::vector<float>& a, const std::vector<float>& b)
{
    return a.size() == b.size() && (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0);
}

inline bool same_lists(const Lists& a, const Lists& b)
{
    return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                      [](const auto& x, const auto& y) { return same_bits(x, y); });
}

inline bool same_bits(const Output& a, const Output& b)
{
    return same_bits(a.out, b.out) && same_lists(a.sums, b.sums) && same_lists(a.low_counts, b.low_counts) &&
           same_lists(a.entropies, b.entropies) && same_lists(a.key_norms, b.key_norms) &&
           same_lists(a.key_similarities, b.key_similarities) && same_lists(a.head_sums, b.head_sums) &&
           same_lists(a.head_squares, b.head_squares) && same_bits(a.row_statistics, b.row_statistics);
}

// Output buffers of a SignalRequest in backend memory, NaN until written.
class SignalBuffers {
public:
    SignalBuffers(Backend& backend, const Case& c, int64_t stride) : backend_(backend), case_(c), stride_(stride)
    {
        const auto filled = [&](int64_t floats) {
            const float nan = std::numeric_limits<float>::quiet_NaN();
            return to_device(backend, std::vector<float>(static_cast<size_t>(floats), nan));
        };
        const int32_t query_heads = c.shape().query_heads;
        for (Buffer* buffer : {&sums_, &low_counts_, &entropies_, &key_norms_, &key_similarities_})
            *buffer = filled(c.kv_heads * stride);
        for (Buffer* buffer : {&head_sums_, &head_squares_})
            *buffer = filled(query_heads * stride);
        row_statistics_ = filled(query_heads);
    }

    SignalRequest request() const
    {
        SignalRequest request{.rows = case_.wanted, .sums = sums_.data<float>(), .stride = stride_};
        if (case_.only_keys) request.sums = nullptr;
        if (case_.only_keys || case_.every_signal) request.key_norms = key_norms_.data<float>();
        if (case_.only_keys || case_.every_signal) request.key_similarities = key_similarities_.data<float>();
        if (!case_.every_signal) return request;
        request.outside_newest = case_.outside_newest;
        request.low_counts = low_counts_.data<float>();
        request.entropies = entropies_.data<float>();
        if (!case_.by_rank) {
            request.head_sums = head_sums_.data<float>();
            request.head_squares = head_squares_.data<float>();
        }
        request.row_statistic = case_.statistic;
        request.row_statistics = row_statistics_.data<float>();
        return request;
    }

    std::vector<const Buffer*> all() const
    {
        return {&sums_,      &low_counts_,   &entropies_,     &key_norms_, &key_similarities_,
                &head_sums_, &head_squares_, &row_statistics_};
    }

    void read(Output& to) const
    {
        if (case_.only_keys || case_.every_signal) to.key_norms = lists(key_norms_, case_.kv_heads);
        if (case_.only_keys || case_.every_signal) to.key_similarities = lists(key_similarities_, case_.kv_heads);
        if (case_.only_keys) return;
        to.sums = lists(sums_, case_.kv_heads);
        if (!case_.every_signal) return;
        to.low_counts = lists(low_counts_, case_.kv_heads);
        to.entropies = lists(entropies_, case_.kv_heads);
        if (!case_.by_rank) {
            to.head_sums = lists(head_sums_, case_.shape().query_heads);
            to.head_squares = lists(head_squares_, case_.shape().query_heads);
        }
        if (case_.statistic == RowStatistic::None) return;
        to.row_statistics =
            to_host<float>(backend_, row_statistics_, static_cast<size_t>(case_.shape().query_heads));
    }

private:
    Lists lists(const Buffer& buffer, int32_t heads) const
    {
        const auto all = to_host<float>(backend_, buffer, static_cast<size_t>(heads * stride_));
        Lists result;
        for (int32_t h = 0; h < heads; ++h) {
            const auto from = all.begin() + h * static_cast<std::ptrdiff_t>(stride_);
            result.emplace_back(from,
                                from + case_.used[static_cast<size_t>(h * case_.kv_heads / heads)] + case_.chunk());
        }
        return result;
    }

    Backend& backend_;
    const Case& case_;
    int64_t stride_;
    Buffer sums_, low_counts_, entropies_, key_norms_, key_similarities_, head_sums_, head_squares_,
        row_statistics_;
};

inline std::vector<Row> staged_rows(const KvFixture& kv, size_t head, int32_t rows)
{
    const auto bytes = static_cast<size_t>(kv.staged_bytes());
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

// Page bounds of a case's lists, computed by the backend.
class PageKeys {
public:
    PageKeys(const Case& c, const KvFixture& kv, const Rotation& rotation) : retrieval_(c.retrieval)
    {
        if (!c.retrieve) return;
        retrieval_.pages.page_stride = c.max_used() / retrieval_.pages.page + 3;
        const auto floats = static_cast<size_t>(c.kv_heads * retrieval_.pages.page_stride * 2 * c.head_dim);
        const float nan = std::numeric_limits<float>::quiet_NaN();
        bounds_ = to_device(kv.backend, std::vector<float>(floats, nan));
        retrieval_.pages.bounds = bounds_.data<float>();
        kv.backend.bound_pages({.shape = kv.shape,
                                .pool = kv.pool(),
                                .lists = kv.view(),
                                .rotation = rotation,
                                .first = 0,
                                .pages = retrieval_.pages});
    }
    PageRetrieval retrieval() const { return retrieval_; }

private:
    PageRetrieval retrieval_;
    Buffer bounds_;
};

// Runs the attention of a case. `layout` is the seed of the page table and, for decode, of the order lists. `spoil`
// may change the lists after their page bounds were computed and before attention runs.
inline Output attend(
    Backend& backend, const Case& c, const Input& in, uint32_t layout,
    const std::function<void(KvFixture&)>& spoil = [](KvFixture&) {})
{
    const HeadShape shape = c.shape();
    const int32_t chunk = c.chunk();
    KvFixture kv(backend, shape, c.type, c.max_used() + std::max(c.rows, 40), layout, c.wide);
    for (size_t h = 0; h < in.lists.size(); ++h)
        kv.fill(h, in.lists[h], c.rows == 0 && !c.retrieve);

    const Buffer qkv = to_device(backend, in.qkv), table = to_device(backend, in.table);
    const Rotation rotation = in.rotation(table.data<float>(), c);
    const int64_t stride = kv.order_stride + 5;
    const float nan = std::numeric_limits<float>::quiet_NaN();
    const auto out_floats = static_cast<size_t>(chunk * shape.query_heads * shape.head_dim);
    const Buffer out = to_device(backend, std::vector<float>(out_floats, nan));
    const SignalBuffers signals(backend, c, stride);

    Output result;
    if (c.rows > 0) {
        backend.stage({.shape = shape,
                       .qkv = qkv.data<float>(),
                       .rows = c.rows,
                       .staging = kv.staging(),
                       .rotation = rotation});
        spoil(kv);
        backend.attend({.shape = shape,
                        .qkv = qkv.data<float>(),
                        .rows = c.rows,
                        .pool = kv.pool(),
                        .lists = kv.view(),
                        .staging = kv.staging(),
                        .rotation = rotation,
                        .out = out.data<float>(),
                        .signals = signals.request(),
                        .window = c.window});
    } else {
        const PageKeys bounds(c, kv, rotation);
        spoil(kv);
        backend.decode_attend({.shape = shape,
                               .qkv = qkv.data<float>(),
                               .pool = kv.pool(),
                               .lists = kv.view(),
                               .rotation = rotation,
                               .out = out.data<float>(),
                               .signals = signals.request(),
                               .retrieval = bounds.retrieval(),
                               .window = c.window});
    }
    result.out = to_host<float>(backend, out, out_floats);
    signals.read(result);
    for (size_t h = 0; h < in.lists.size(); ++h) {
        if (c.rows > 0)
            result.new_rows.push_back(staged_rows(kv, h, c.rows));
        else
            result.new_rows.push_back({kv.read(h, kv.order_of(h)[static_cast<size_t>(c.used[h])])});
    }
    return result;
}

inline ReferenceAttention reference(const Case& c, const Input& in, const Output& stored)
{
    ReferenceAttentionArgs args;
    args.shape = c.shape();
    args.qkv = in.qkv.data();
    args.rows = c.chunk();
    args.used = c.used;
    for (size_t h = 0; h < in.lists.size(); ++h) {
        std::vector<double> keys, values;
        const auto add = [&](DType type, const std::vector<Row>& rows) {
            for (const Row& row : rows) {
                const auto key = widened(type, row.key.data(), c.head_dim);
                const auto value = widened(type, row.value.data(), c.head_dim);
                keys.insert(keys.end(), key.begin(), key.end());
                values.insert(values.end(), value.begin(), value.end());
            }
        };
        add(c.type, in.lists[h]);
        add(c.new_type(), stored.new_rows[h]);
        args.keys.push_back(keys);
        args.values.push_back(values);
    }
    args.rotation = in.rotation(in.table.data(), c);
    args.signals.rows = c.wanted;
    args.signals.outside_newest = c.outside_newest;
    args.signals.row_statistic = c.statistic;
    args.retrieval = c.retrieval;
    args.retrieve = c.retrieve;
    args.window = c.window;
    return reference_attention(args);
}

inline double largest_error(const std::vector<float>& got, const std::vector<double>& expected)
{
    double worst = got.size() == expected.size() ? 0.0 : 1e30;
    for (size_t i = 0; i < got.size() && worst < 1e30; ++i) {
        const double error = std::abs(static_cast<double>(got[i]) - expected[i]) / (1.0 + std::abs(expected[i]));
        worst = error <= worst ? worst : std::isnan(error) ? 1e30 : error;
    }
    return worst;
}

// Rounds head sizes up to whole blocks of the pool's type.
inline void fit_blocks(Case& c)
{
    const int32_t block = info(c.type).block, part = c.head_dim / c.rotary_dim;
    c.head_dim = (c.head_dim + block - 1) / block * block;
    c.rotary_dim = c.head_dim / part;
    c.wide = c.seed % 2 ? DType::BF16 : DType::F16;
}

inline std::vector<Case> random_cases(bool decode, int count, uint32_t seed)
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
        c.head_dim = pick({8, 24, 32, 64, 80, 128, 256});
        c.rotary_dim = random() % 3 == 0 ? c.head_dim / 2 : c.head_dim;
        c.type = static_cast<DType>(i % 4);
        c.keys_rotated = random() % 3 == 0;
        c.rows = decode ? 0 : pick({1, 2, 7, 64, 100});
        c.wanted = pick({0, 1, 5, SignalRequest::all});
        for (int32_t h = 0; h < c.kv_heads; ++h)
            c.used.push_back(pick({0, 1, 15, 16, 17, 63, 64, 129, 257, 300}) + (decode ? pick({0, 260, 900}) : 0));
        c.seed = seed * 1000 + static_cast<uint32_t>(i / 4 + i);
        fit_blocks(c);
        cases.push_back(c);
    }
    return cases;
}

// Few and small cases, so that the emulator can run them, too: every type with rotated and unrotated keys, head
// sizes with and without a specialised kernel, group sizes that do and do not divide a tile, and lists of unequal
// length.
inline std::vector<Case> chosen_cases(bool decode)
{
    std::vector<Case> cases;
    for (uint32_t i = 0; i < 16; ++i) {
        Case c;
        c.type = static_cast<DType>(i % 4);
        c.keys_rotated = i / 4 % 2 == 1;
        c.head_dim = std::initializer_list<int32_t>{64, 128, 24, 80}.begin()[i / 4];
        c.rotary_dim = (i + i / 4) % 4 == 1 ? c.head_dim / 2 : c.head_dim;
        c.group = std::initializer_list<int32_t>{1, 4, 3, 7}.begin()[(i + i / 4 + i / 8) % 4];
        c.kv_heads = c.group > 4 ? 1 : 2;
        c.rows = decode ? 0 : std::initializer_list<int32_t>{1, 17, 5}.begin()[i % 3];
        c.wanted = std::initializer_list<int32_t>{SignalRequest::all, 1, 5}.begin()[i / 2 % 3];
        c.used = {i % 5 == 0 ? 0 : static_cast<int32_t>(20 + 13 * i)};
        if (c.kv_heads == 2) c.used.push_back(static_cast<int32_t>(i % 2 ? 64 : 7 + i));
        c.every_signal = true;
        c.outside_newest = std::initializer_list<int32_t>{-1, 4, 0, 2000}.begin()[i % 4];
        c.statistic = static_cast<RowStatistic>((i + i / 4) % 4);
        c.seed = 7000 + i / 4;
        fit_blocks(c);
        cases.push_back(c);
    }
    return cases;
}

// Every signal, with windows shorter and longer than lists and chunks, with and without soft caps.
inline std::vector<Case> window_cases(bool decode, int count, uint32_t seed)
{
    std::mt19937 random(seed);
    const auto pick = [&](std::initializer_list<int32_t> from) {
        return *(from.begin() + static_cast<std::ptrdiff_t>(random() % from.size()));
    };
    std::vector<Case> cases = random_cases(decode, count, seed);
    for (Case& c : cases) {
        c.every_signal = true;
        c.group = pick({1, 2, 3, 4, 7, 8, 12});
        c.head_dim = c.rotary_dim = pick({16, 32, 64});
        c.rows = decode ? 0 : pick({1, 5, 33, 64, 100});
        c.wanted = pick({1, 5, 32, SignalRequest::all});
        c.outside_newest = pick({-1, -1, 0, 4, 40, 2000});
        c.statistic = static_cast<RowStatistic>(random() % 4);
        c.window = pick({0, 1, 2, 16, 31, 64, 100, 257, 600, 5000});
        c.soft_cap = static_cast<float>(pick({0, 0, 1, 4, 50}));
        fit_blocks(c);
    }
    return cases;
}

// Few and small cases, so that the emulator can run them, too: every type, rotation and kernel.
inline std::vector<Case> chosen_window_cases(bool decode)
{
    std::vector<Case> cases = chosen_cases(decode);
    for (size_t i = 0; i < cases.size(); ++i) {
        cases[i].window = std::initializer_list<int32_t>{9, 1, 40, 130, 3}.begin()[i % 5];
        cases[i].soft_cap = std::initializer_list<float>{0, 3, 30}.begin()[i % 3];
    }
    return cases;
}

inline std::unique_ptr<Backend> cpu(int threads)
{
    return open_backend({.device = "cpu", .threads = threads, .simd = ""});
}

} // namespace palimpsest::kernels::test
