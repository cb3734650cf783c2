#include "engine/model/forward/signals_on_host.h"

#include <algorithm>

namespace palimpsest::engine {
namespace {

// Calls use(output, floats) for every requested output.
template<class Request, class Use>
void for_outputs(Request& seen, const kernels::HeadShape& shape, Use&& use)
{
    const int64_t of_lists = shape.kv_heads * seen.stride, of_heads = shape.query_heads * seen.stride;
    const auto call = [&](auto& output, int64_t floats) {
        if (output) use(output, floats);
    };
    call(seen.sums, of_lists);
    call(seen.low_counts, of_lists);
    call(seen.head_sums, of_heads);
    call(seen.head_squares, of_heads);
    call(seen.entropies, of_lists);
    call(seen.key_norms, of_lists);
    call(seen.key_similarities, of_lists);
    call(seen.row_statistics, shape.query_heads);
}

} // namespace

void SignalsOnHost::download(std::span<const AttendedLayer> layers, const kernels::HeadShape& shape,
                             kernels::Backend& backend)
{
    const float* end = nullptr;
    first_ = nullptr;
    for (const AttendedLayer& attended : layers)
        for_outputs(attended.signals, shape, [&](const float* output, int64_t floats) {
            if (!first_) first_ = output;
            first_ = std::min(first_, output);
            end = std::max(end, output + floats);
        });
    if (!first_) return;
    floats_.resize(static_cast<size_t>(end - first_));
    backend.download(floats_.data(), first_, floats_.size() * sizeof(float));
}

kernels::SignalRequest SignalsOnHost::here(const kernels::SignalRequest& seen)
{
    kernels::SignalRequest here = seen;
    for_outputs(here, {}, [&](float*& output, int64_t) { output = floats_.data() + (output - first_); });
    return here;
}

} // namespace palimpsest::engine
