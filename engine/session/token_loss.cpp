#include "engine/session/token_loss.h"

#include <algorithm>
#include <cmath>

#include "kernels/base/error.h"

namespace palimpsest::engine {

double negative_log_likelihood(std::span<const float> logits, TokenId token)
{
    double largest = -INFINITY;
    for (const float x : logits)
        largest = std::max(largest, static_cast<double>(x));
    double sum = 0;
    for (const float x : logits)
        sum += std::exp(static_cast<double>(x) - largest);
    const double nll = largest + std::log(sum) - static_cast<double>(logits[static_cast<size_t>(token)]);
    if (!std::isfinite(nll))
        throw Error(ErrorKind::Failed, ErrorCode::ModelG15, Text("model"),
                    Text("its output is not a finite number"),
                    Text("the weights are damaged; download the model again"));
    return nll;
}

} // namespace palimpsest::engine
