#include "kernels/reference/reference_attention.h"

#include <algorithm>
#include <cmath>

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

// Probabilities over the first `visible` ranks; zero beyond.
std::vector<double> softmax_of_logits(const std::vector<double>& q, const std::vector<double>& keys, double scale,
                                      size_t visible, size_t ranks)
{
    std::vector<double> p(ranks, 0.0);
    for (size_t rank = 0; rank < visible; ++rank) {
        for (size_t i = 0; i < q.size(); ++i)
            p[rank] += q[i] * keys[rank * q.size() + i];
        p[rank] *= scale;
    }
    const double top = *std::max_element(p.begin(), p.begin() + static_cast<std::ptrdiff_t>(visible));
    double total = 0;
    for (size_t rank = 0; rank < visible; ++rank)
        total += p[rank] = std::exp(p[rank] - top);
    for (size_t rank = 0; rank < visible; ++rank)
        p[rank] /= total;
    return p;
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
    const int32_t first_wanted = args.rows - std::min(args.rows, args.signals.rows);

    ReferenceAttention result;
    result.out.assign(rows * heads * dim, 0.0);
    result.weights.assign(heads, std::vector<std::vector<double>>(rows));
    for (const int32_t used : args.used)
        result.sums.emplace_back(static_cast<size_t>(used) + rows, 0.0);

    for (size_t head = 0; head < heads; ++head) {
        const size_t kv_head = head / static_cast<size_t>(shape.group());
        const auto used = static_cast<size_t>(args.used[kv_head]);
        const std::vector<double> keys = rotated_keys(args, kv_head);
        for (size_t row = 0; row < rows; ++row) {
            const auto q = rotated_query(args, static_cast<int32_t>(row), static_cast<int32_t>(head));
            const auto p =
                softmax_of_logits(q, keys, static_cast<double>(shape.scale), used + row + 1, used + rows);
            for (size_t rank = 0; rank < p.size(); ++rank) {
                for (size_t i = 0; i < dim; ++i)
                    result.out[(row * heads + head) * dim + i] += p[rank] * args.values[kv_head][rank * dim + i];
                if (static_cast<int32_t>(row) >= first_wanted) result.sums[kv_head][rank] += p[rank];
            }
            result.weights[head][row] = p;
        }
    }
    return result;
}

} // namespace palimpsest::kernels
