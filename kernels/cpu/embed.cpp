#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/embed.cpp"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "kernels/cpu/block_rows-inl.h"

HWY_BEFORE_NAMESPACE();
namespace palimpsest::kernels {
namespace HWY_NAMESPACE {
namespace { // compiled once per target

void widen_row(DType type, const std::byte* from, float* to, int64_t count)
{
    WidenWeights(type, from, to, count);
}

} // namespace
} // namespace HWY_NAMESPACE
} // namespace palimpsest::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include <algorithm>
#include <cassert>

#include "kernels/cpu/cpu_weight.h"
#include "kernels/cpu/kernels.h"

namespace palimpsest::kernels::cpu {

HWY_EXPORT(widen_row);

void embed(const EmbedArgs& args, CpuContext& context)
{
    const CpuWeight& table = on_cpu(args.table);
    context.threads.run(static_cast<int64_t>(args.ids.size()), [&](int64_t i, int) {
        const int32_t id = args.ids[static_cast<size_t>(i)];
        assert(id >= 0 && id < table.rows());
        const CpuWeight::Row row = table.row(id);
        float* y = args.y + i * table.cols();
        HWY_DYNAMIC_DISPATCH(widen_row)(row.type, row.data, y, table.cols());
        if (args.factor != 1.0f)
            std::transform(y, y + table.cols(), y, [&](float value) { return value * args.factor; });
    });
}

} // namespace palimpsest::kernels::cpu
#endif
