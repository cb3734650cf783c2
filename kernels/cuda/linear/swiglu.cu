// The feed-forward layer, SwiGLU or GEGLU (Shazeer 2020, eq. 6, without biases). Host code; the kernels are those
// of gemv.h (decode) and of gemm.h, rms_norm.h and finish_rows.h (prefill).
#include <algorithm>

#include "kernels/cuda/device/kernels.h"
#include "kernels/cuda/linear/finish_rows.h"
#include "kernels/cuda/linear/gemm.h"
#include "kernels/cuda/linear/gemv.h"
#include "kernels/cuda/linear/rms_norm.h"

namespace palimpsest::kernels::cuda {
namespace {

struct Layer {
    RowSource x;
    float* y;
    const CudaWeight& gate_up;
    const CudaWeight& down;
    float* hidden; // [rows, 2 * ffn]
    Activation activation;
    RowFinish finish;
};

// Computes the hidden rows that `down` reads, in f32.
RowSource gated_rows(const Layer& layer, CudaContext& context)
{
    const int64_t ffn = layer.down.cols();
    RowSource hidden{.x = layer.hidden, .rows = layer.x.rows, .cols = ffn, .activation = layer.activation};
    if (gated_gemv(layer.x, layer.gate_up, layer.activation, layer.hidden, context)) return hidden;
    gemv({.x = layer.x, .weight = &layer.gate_up, .y = layer.hidden}, context);
    hidden.gated = true;
    const Operand made = make_rows(hidden, DType::F32, ScratchUse::NarrowedRows, context);
    return {.x = static_cast<const float*>(made.values), .rows = layer.x.rows, .cols = ffn};
}

void decode(const Layer& layer, CudaContext& context)
{
    const RowSource hidden = gated_rows(layer, context);
    multiply_and_finish({.x = hidden, .weight = &layer.down, .y = layer.y, .accumulate = true}, layer.finish,
                        Phase::Decode, context);
}

void prefill(const Layer& layer, CudaContext& context)
{
    gemm({.x = layer.x, .weight = &layer.gate_up, .y = layer.hidden}, context);
    const RowSource hidden{.x = layer.hidden,
                           .rows = layer.x.rows,
                           .cols = layer.down.cols(),
                           .gated = true,
                           .activation = layer.activation};
    multiply_and_finish({.x = hidden, .weight = &layer.down, .y = layer.y, .accumulate = true}, layer.finish,
                        Phase::Prefill, context);
}

} // namespace

void feed_forward(const FeedForwardArgs& args, CudaContext& context)
{
    const int64_t dim = args.down->rows(), ffn = args.down->cols(), at_once = std::min(args.rows, most_hidden_rows);
    float* hidden = context.scratch<float>(ScratchUse::Hidden, static_cast<size_t>(at_once * 2 * ffn));
    for (int64_t first = 0; first < args.rows; first += at_once) {
        const Layer layer{.x = {.x = args.x + first * dim,
                                .rows = std::min(at_once, args.rows - first),
                                .cols = dim,
                                .norm = args.norm},
                          .y = args.x + first * dim,
                          .gate_up = on_cuda(args.gate_up),
                          .down = on_cuda(args.down),
                          .hidden = hidden,
                          .activation = args.activation,
                          .finish = args.finish};
        if (args.phase == Phase::Decode)
            decode(layer, context);
        else
            prefill(layer, context);
    }
}

} // namespace palimpsest::kernels::cuda
