#include "engine/session/token_loss.h"

#include <algorithm>
#include <cassert>
#include <cmath>

#include "kernels/base/error.h"

namespace palimpsest::engine {
namespace {

double loss_of(std::span<const float> logits, TokenId token)
{
    double largest = -INFINITY;
    for (const float x : logits)
        largest = std::max(largest, static_cast<double>(x));
    double sum = 0;
    for (const float x : logits)
        sum += std::exp(static_cast<double>(x) - largest);
    return largest + std::log(sum) - static_cast<double>(logits[static_cast<size_t>(token)]);
}

std::unique_ptr<kernels::ThreadPool> started(int threads)
{
    try {
        return std::make_unique<kernels::ThreadPool>(threads);
    } catch (const Error&) {
        return std::make_unique<kernels::ThreadPool>(1);
    }
}

double checked(double loss)
{
    if (!std::isfinite(loss))
        throw Error(ErrorKind::Failed, ErrorCode::ModelG15, Text("model"),
                    Text("its output is not a finite number"),
                    Text("the weights are damaged; download the model again"));
    return loss;
}

} // namespace

double negative_log_likelihood(std::span<const float> logits, TokenId token)
{
    return checked(loss_of(logits, token));
}

TokenLosses::TokenLosses(int threads) : threads_(started(threads)) {}

std::span<const double> TokenLosses::compute(std::span<const float> logits, std::span<const TokenId> tokens)
{
    assert(tokens.empty() || logits.size() % tokens.size() == 0);
    const size_t vocabulary = tokens.empty() ? 0 : logits.size() / tokens.size();
    losses_.resize(tokens.size());
    threads_->run(std::ssize(tokens), [&](int64_t row, int) {
        const auto r = static_cast<size_t>(row);
        losses_[r] = loss_of(logits.subspan(r * vocabulary, vocabulary), tokens[r]);
    });
    for (const double loss : losses_)
        checked(loss);
    return losses_;
}

} // namespace palimpsest::engine
