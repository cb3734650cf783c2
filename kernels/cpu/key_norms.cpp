#include "kernels/cpu/key_norms.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace palimpsest::kernels::cpu {

void write_key_norms(const HeadShape& shape, std::span<const float> qkv, const int32_t* used,
                     const SignalRequest& wanted)
{
    if (wanted.rows == 0 || !wanted.key_norms) return;
    const auto width = static_cast<size_t>(shape.qkv_width()), dim = static_cast<size_t>(shape.head_dim);
    for (int32_t head = 0; head < shape.kv_heads; ++head) {
        float* norms = std::fill_n(wanted.key_norms + head * wanted.stride, used[head], 0.0f);
        for (size_t at = static_cast<size_t>(shape.query_heads + head) * dim; at < qkv.size(); at += width) {
            const std::span<const float> key = qkv.subspan(at, dim);
            const double squares = std::accumulate(key.begin(), key.end(), 0.0, [](double sum, float x) {
                return sum + static_cast<double>(x) * static_cast<double>(x);
            });
            *norms++ = static_cast<float>(std::sqrt(squares));
        }
    }
}

} // namespace palimpsest::kernels::cpu
