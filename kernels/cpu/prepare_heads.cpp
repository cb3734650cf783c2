#include <algorithm>

#include "kernels/cpu/kernels.h"
#include "kernels/cpu/rms_norm.h"

namespace palimpsest::kernels::cpu {
namespace {

void norm_heads(const RmsNorm& norm, bool across_heads, int32_t heads, int32_t head_dim, float* x)
{
    if (!norm.weight) return;
    if (across_heads) return rms_norm(x, norm, int64_t{heads} * head_dim, x);
    for (int32_t head = 0; head < heads; ++head, x += head_dim)
        rms_norm(x, norm, head_dim, x);
}

void scale_heads(float factor, int32_t dims, int32_t heads, int32_t head_dim, float* x)
{
    for (int32_t head = 0; head < heads; ++head, x += head_dim)
        std::transform(x, x + dims, x, [&](float value) { return value * factor; });
}

} // namespace

void prepare_heads(const PrepareHeadsArgs& args, CpuContext& context)
{
    const HeadShape& shape = args.shape;
    context.threads.run(args.rows, [&](int64_t row, int) {
        float* queries = args.qkv + row * shape.qkv_width();
        float* keys = queries + int64_t{shape.query_heads} * shape.head_dim;
        norm_heads(args.query_norm, args.across_heads, shape.query_heads, shape.head_dim, queries);
        norm_heads(args.key_norm, args.across_heads, shape.kv_heads, shape.head_dim, keys);
        if (args.query_factor != 1.0f)
            scale_heads(args.query_factor, args.query_factor_dims, shape.query_heads, shape.head_dim, queries);
    });
}

} // namespace palimpsest::kernels::cpu
