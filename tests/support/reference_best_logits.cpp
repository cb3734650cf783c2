#include "tests/support/reference_best_logits.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

namespace palimpsest::kernels::test {

void reference_best_logits(const BestLogitsArgs& args)
{
    const float* end = args.logits + args.count;
    const float* bad = std::find_if(args.logits, end, [](float logit) { return !std::isfinite(logit); });
    *args.first_bad = static_cast<int32_t>(bad - args.logits);
    if (bad != end) return;

    std::vector<int32_t> ids(static_cast<size_t>(args.count));
    std::iota(ids.begin(), ids.end(), 0);
    std::stable_sort(ids.begin(), ids.end(), [&](int32_t a, int32_t b) { return args.logits[a] > args.logits[b]; });
    for (int32_t i = 0; i < args.wanted; ++i) {
        args.ids[i] = ids[static_cast<size_t>(i)];
        args.best[i] = args.logits[args.ids[i]];
    }
}

} // namespace palimpsest::kernels::test
