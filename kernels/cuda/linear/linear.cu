#include "kernels/cuda/device/kernels.h"
#include "kernels/cuda/linear/finish_rows.h"

namespace palimpsest::kernels::cuda {

void linear(const LinearArgs& args, CudaContext& context)
{
    if (args.rows == 0) return;
    const Product product{.x = {.x = args.x, .rows = args.rows, .cols = args.weight->cols(), .norm = args.norm},
                          .weight = &on_cuda(args.weight),
                          .bias = args.bias,
                          .y = args.y,
                          .accumulate = args.accumulate};
    multiply_and_finish(product, args.finish, args.phase, context);
}

} // namespace palimpsest::kernels::cuda
