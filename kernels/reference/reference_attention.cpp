#include "kernels/reference/reference_attention.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace palimpsest::kernels {
namespace {

std::vector<double> rotated_query(const ReferenceAttentionArgs& args, int32_t row, int32_t head)
{
    const int32_t dim = args.shape.head_dim;
    const float* query = args.qkv + row * args.shape.qkv_width() + static_cast<int64_t>(head) * dim;
    std::vector<double> q(query, query + dim);
    const int32_t used = args.used[static_cast<size_t>(head / args.shape.group())];
    reference_rotate(args.rotation.table, args.rotation.keys_rotated ? row : used + row, q.data());
    return q;
}

std::vector<double> rotated_keys(const ReferenceAttentionArgs& args, size_t kv_head)
{
    std::vector<double> keys = args.keys[kv_head];
    if (args.rotation.keys_rotated) return keys;
    const int64_t ranks = args.used[kv_head] + args.rows;
    for (int64_t rank = 0; rank < ranks; ++rank)
        reference_rotate(args.rotation.table, rank, keys.data() + rank * args.shape.head_dim);
    return keys;
}

using Ranks = std::vector<size_t>; // ascending

// The first rank that a row attends to. `count`: the number of ranks up to its own, which is included.
size_t first_seen(int32_t window, size_t count)
{
    return window > 0 && count > static_cast<size_t>(window) ? count - static_cast<size_t>(window) : 0;
}

Ranks seen_ranks(int32_t window, size_t count)
{
    Ranks ranks(count - first_seen(window, count));
    std::iota(ranks.begin(), ranks.end(), first_seen(window, count));
    return ranks;
}

// Softmax probabilities over the ranks in `read`, as a vector of `count`; zero elsewhere.
std::vector<double> softmax_of_logits(const std::vector<double>& q, const std::vector<double>& keys,
                                      const HeadShape& shape, const Ranks& read, size_t count)
{
    const auto scale = static_cast<double>(shape.scale), cap = static_cast<double>(shape.soft_cap);
    std::vector<double> p(count, 0.0);
    double top = -1e300, total = 0;
    for (const size_t rank : read) {
        for (size_t i = 0; i < q.size(); ++i)
            p[rank] += q[i] * keys[rank * q.size() + i];
        p[rank] *= scale;
        if (cap > 0) p[rank] = cap * std::tanh(p[rank] / cap);
        top = std::max(top, p[rank]);
    }
    for (const size_t rank : read)
        total += p[rank] = std::exp(p[rank] - top);
    for (const size_t rank : read)
        p[rank] /= total;
    return p;
}

// Upper bound of the logit of any key in a retrieval page [ranks, dim] (Quest, equation of section 3.2).
double page_bound(const std::vector<double>& q, const double* keys, size_t ranks)
{
    double bound = 0;
    for (size_t i = 0; i < q.size(); ++i) {
        double least = keys[i], greatest = keys[i];
        for (size_t rank = 1; rank < ranks; ++rank) {
            least = std::min(least, keys[rank * q.size() + i]);
            greatest = std::max(greatest, keys[rank * q.size() + i]);
        }
        bound += std::max(q[i] * least, q[i] * greatest);
    }
    return bound;
}

// The retrieval pages that the query heads of one KV head attend to, ascending: all of them if the list has at most
// `tokens` ranks or `max_pages` pages.
std::vector<uint32_t> pages_read(const ReferenceAttentionArgs& args, size_t kv_head,
                                 const std::vector<double>& keys, double& margin)
{
    const auto dim = static_cast<size_t>(args.shape.head_dim);
    const auto page = static_cast<size_t>(args.retrieval.pages.page);
    const size_t ranks = static_cast<size_t>(args.used[kv_head]) + 1, last = (ranks - 1) / page;
    std::vector<uint32_t> pages(last + 1);
    std::iota(pages.begin(), pages.end(), 0u);
    const auto others = static_cast<size_t>(args.retrieval.max_pages - 1);
    if (ranks <= static_cast<size_t>(args.retrieval.tokens) || last <= others) return pages;

    std::vector<double> scores(last, 0.0);
    for (int32_t g = 0; g < args.shape.group(); ++g) {
        const auto q = rotated_query(args, 0, static_cast<int32_t>(kv_head) * args.shape.group() + g);
        for (size_t p = 0; p < last; ++p)
            scores[p] += page_bound(q, keys.data() + p * page * dim, page) / args.shape.group();
    }
    pages.pop_back();
    std::stable_sort(pages.begin(), pages.end(), [&](uint32_t a, uint32_t b) { return scores[a] > scores[b]; });
    if (others > 0) {
        const double best = scores[pages[others - 1]], next = scores[pages[others]];
        margin = std::min(margin, (best - next) / std::abs(best));
    }
    pages.resize(others);
    pages.push_back(static_cast<uint32_t>(last));
    std::sort(pages.begin(), pages.end());
    return pages;
}

Ranks ranks_of(const std::vector<uint32_t>& pages, size_t page, size_t count)
{
    Ranks ranks;
    for (const uint32_t p : pages)
        for (size_t rank = p * page; rank < std::min((p + 1) * page, count); ++rank)
            ranks.push_back(rank);
    return ranks;
}

// The smallest set of ranks, taken best first, that holds `mass` of p (docs/policies-spec.md, twilight). Ascending.
Ranks best_of(const std::vector<double>& p, Ranks ranks, double mass, double& margin)
{
    std::stable_sort(ranks.begin(), ranks.end(), [&](size_t a, size_t b) { return p[a] > p[b]; });
    size_t count = 0;
    double held = 0;
    while (count < ranks.size() && held < mass - 1e-12) {
        margin = std::min(margin, mass - held);
        held += p[ranks[count++]];
    }
    margin = std::min(margin, held - mass);
    if (count < ranks.size()) margin = std::min(margin, 1 - p[ranks[count]] / p[ranks[count - 1]]);
    ranks.resize(count);
    std::sort(ranks.begin(), ranks.end());
    return ranks;
}

// Whether a value is so close to the threshold that rounding may decide the comparison. `of_threshold`: value /
// threshold.
bool is_tie(double of_threshold)
{
    return std::abs(of_threshold - 1) < 1e-5;
}

double row_statistic(RowStatistic kind, const double* a, size_t visible)
{
    const auto v = static_cast<double>(visible);
    std::vector<double> sorted(a, a + visible);
    std::sort(sorted.begin(), sorted.end());
    double sum = 0, total = 0;
    for (size_t i = 0; i < visible; ++i) {
        total += sorted[i];
        if (kind == RowStatistic::Gini) sum += (2.0 * static_cast<double>(i + 1) - v - 1) * sorted[i];
        if (kind == RowStatistic::Entropy && sorted[i] > 0) sum -= sorted[i] * std::log(sorted[i]);
        if (kind == RowStatistic::Density) sum += sorted[i] >= 1 / v ? 1 : 0;
    }
    if (kind == RowStatistic::Entropy) return visible > 1 ? sum / std::log(v) : 0;
    return kind == RowStatistic::Gini ? sum / (v * total) : sum / v;
}

class Signals {
public:
    Signals(const ReferenceAttentionArgs& args, ReferenceAttention& result) : args_(args), result_(result)
    {
        const auto heads = static_cast<size_t>(args.shape.query_heads);
        for (size_t head = 0; head < heads; ++head) {
            const size_t kv_head = head / static_cast<size_t>(args.shape.group());
            const std::vector<double> zeros(static_cast<size_t>(args.used[kv_head] + args.rows), 0.0);
            result.head_sums.push_back(zeros);
            result.head_squares.push_back(zeros);
            if (head % static_cast<size_t>(args.shape.group()) != 0) continue;
            result.sums.push_back(zeros);
            result.low_counts.push_back(zeros);
            result.low_ties.push_back(zeros);
            result.entropies.push_back(zeros);
        }
        result.row_statistics.assign(heads, 0.0);
        result.density_ties.assign(heads, 0.0);
    }

    void add_row(size_t kv_head, size_t row)
    {
        const auto group = static_cast<size_t>(args_.shape.group());
        const size_t end = static_cast<size_t>(args_.used[kv_head]) + row + 1;
        const size_t first = first_seen(args_.window, end), visible = end - first;
        std::vector<double> mean(end, 0.0);
        for (size_t head = kv_head * group; head < (kv_head + 1) * group; ++head) {
            const std::vector<double>& p = result_.weights[head][row];
            result_.row_statistics[head] += row_statistic(args_.signals.row_statistic, p.data() + first, visible);
            const std::vector<double> a = divided(p);
            for (size_t rank = first; rank < end; ++rank) {
                const auto v = static_cast<double>(visible);
                if (is_tie(p[rank] * v)) result_.density_ties[head] += 1 / v;
                mean[rank] += a[rank] / static_cast<double>(group);
                result_.sums[kv_head][rank] += a[rank];
                result_.entropies[kv_head][rank] -= a[rank] * std::log(a[rank] + 1e-10);
                result_.head_sums[head][rank] += a[rank];
                result_.head_squares[head][rank] += a[rank] * a[rank];
            }
        }
        for (size_t rank = first; rank < end; ++rank) {
            const double of_uniform = mean[rank] * static_cast<double>(visible);
            result_.low_counts[kv_head][rank] += of_uniform < 1 ? 1 : 0;
            if (is_tie(of_uniform)) result_.low_ties[kv_head][rank] += 1;
        }
    }

private:
    std::vector<double> divided(std::vector<double> a) const
    {
        const int32_t newest = args_.signals.outside_newest;
        if (newest < 0) return a;
        const auto outside = std::max<std::ptrdiff_t>(0, static_cast<std::ptrdiff_t>(a.size()) - newest);
        const double sum = std::accumulate(a.begin(), a.begin() + outside, 0.0);
        for (double& x : a)
            x = sum > 0 ? x / sum : x;
        return a;
    }

    const ReferenceAttentionArgs& args_;
    ReferenceAttention& result_;
};

// Of the list's KV head, from the keys in qkv.
std::vector<double> key_norms(const ReferenceAttentionArgs& args, size_t kv_head)
{
    std::vector<double> norms(static_cast<size_t>(args.used[kv_head]), 0.0);
    for (int32_t row = 0; row < args.rows; ++row) {
        const float* key = args.qkv + row * args.shape.qkv_width() +
                           (args.shape.query_heads + static_cast<int64_t>(kv_head)) * args.shape.head_dim;
        double squares = 0;
        for (int32_t i = 0; i < args.shape.head_dim; ++i)
            squares += static_cast<double>(key[i]) * key[i];
        norms.push_back(std::sqrt(squares));
    }
    return norms;
}

// Of the list's KV head, from the keys as they are stored.
std::vector<double> key_similarities(const ReferenceAttentionArgs& args, size_t kv_head)
{
    const std::vector<double>& keys = args.keys[kv_head];
    const auto dim = static_cast<size_t>(args.shape.head_dim), ranks = keys.size() / dim;
    const auto length = [dim](const double* x) { return std::sqrt(std::inner_product(x, x + dim, x, 0.0)); };
    std::vector<double> mean(dim, 0.0), similarities;
    for (size_t rank = 0; rank < ranks; ++rank)
        for (size_t i = 0; i < dim; ++i)
            mean[i] += keys[rank * dim + i] / length(&keys[rank * dim]) / static_cast<double>(ranks);
    for (size_t rank = 0; rank < ranks; ++rank) {
        const double* key = &keys[rank * dim];
        similarities.push_back(std::inner_product(mean.begin(), mean.end(), key, 0.0) / length(key));
    }
    return similarities;
}

} // namespace

void reference_rotate(const RopeTable& table, int64_t position, double* x)
{
    const int32_t half = table.rotary_dim / 2;
    const float* cosines = table.cos_sin + position * table.rotary_dim;
    const float* sines = cosines + half;
    for (int32_t i = 0; i < half; ++i) {
        const double a = x[i], b = x[i + half];
        x[i] = a * cosines[i] - b * sines[i];
        x[i + half] = b * cosines[i] + a * sines[i];
    }
}

ReferenceAttention reference_attention(const ReferenceAttentionArgs& args)
{
    const HeadShape& shape = args.shape;
    const auto dim = static_cast<size_t>(shape.head_dim);
    const auto heads = static_cast<size_t>(shape.query_heads);
    const auto rows = static_cast<size_t>(args.rows);
    const auto first_wanted = static_cast<size_t>(args.rows - std::min(args.rows, args.signals.rows));

    ReferenceAttention result;
    result.out.assign(rows * heads * dim, 0.0);
    result.weights.assign(heads, std::vector<std::vector<double>>(rows));
    Signals signals(args, result);
    for (size_t kv_head = 0; kv_head < args.used.size(); ++kv_head) {
        result.key_norms.push_back(key_norms(args, kv_head));
        result.key_similarities.push_back(key_similarities(args, kv_head));
    }

    for (size_t head = 0; head < heads; ++head) {
        const size_t kv_head = head / static_cast<size_t>(shape.group());
        const auto used = static_cast<size_t>(args.used[kv_head]);
        const std::vector<double> keys = rotated_keys(args, kv_head);
        if (args.retrieve && result.pages.size() == kv_head)
            result.pages.push_back(pages_read(args, kv_head, keys, result.margin));
        for (size_t row = 0; row < rows; ++row) {
            const auto q = rotated_query(args, static_cast<int32_t>(row), static_cast<int32_t>(head));
            const auto softmax = [&](const Ranks& read) {
                return softmax_of_logits(q, keys, shape, read, used + rows);
            };
            Ranks read = seen_ranks(args.window, used + row + 1);
            if (args.retrieve)
                read = ranks_of(result.pages[kv_head], static_cast<size_t>(args.retrieval.pages.page), used + 1);
            std::vector<double> p = softmax(read);
            if (args.retrieve && args.retrieval.top_p > 0)
                p = softmax(best_of(p, read, args.retrieval.top_p, result.margin));
            for (size_t rank = 0; rank < p.size(); ++rank)
                for (size_t i = 0; i < dim; ++i)
                    result.out[(row * heads + head) * dim + i] += p[rank] * args.values[kv_head][rank * dim + i];
            result.weights[head][row] = p;
        }
    }
    for (size_t kv_head = 0; kv_head < args.used.size(); ++kv_head)
        for (size_t row = first_wanted; row < rows; ++row)
            signals.add_row(kv_head, row);
    return result;
}

} // namespace palimpsest::kernels
