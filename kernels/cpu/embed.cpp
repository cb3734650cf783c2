#include <cassert>

#include "kernels/cpu/cpu_weight.h"
#include "kernels/cpu/kernels.h"

namespace palimpsest::kernels::cpu {

void embed(const EmbedArgs& args, CpuContext& context)
{
    const CpuWeight& table = on_cpu(args.table);
    context.threads.run(static_cast<int64_t>(args.ids.size()), [&](int64_t i, int) {
        const int32_t id = args.ids[static_cast<size_t>(i)];
        assert(id >= 0 && id < table.rows());
        const CpuWeight::Row row = table.row(id);
        to_f32(row.type, row.data, args.y + i * table.cols(), table.cols());
    });
}

} // namespace palimpsest::kernels::cpu
