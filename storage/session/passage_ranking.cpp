#include "storage/session/passage_ranking.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <numeric>
#include <utility>

#include "engine/eval/conditional_loss.h"

namespace palimpsest::storage {
namespace {

constexpr double weight_of_likelihood = 0.5; // chosen on books of the training split (docs/quality.md)
constexpr size_t least_ranked = 12;          // fewer are not worth the wait
constexpr size_t tried = 2;                  // passages after which that is estimated
constexpr size_t most_question_tokens = 128;

// Zero mean and unit variance.
std::vector<double> standardised(std::span<const double> values)
{
    const auto count = static_cast<double>(values.size());
    const double mean = std::accumulate(values.begin(), values.end(), 0.0) / count;
    double squares = 0;
    for (const double value : values)
        squares += (value - mean) * (value - mean);
    const double deviation = std::sqrt(squares / count);
    std::vector<double> all;
    for (const double value : values)
        all.push_back(deviation > 0 ? (value - mean) / deviation : 0);
    return all;
}

// Computes losses of a question after passages.
class Ranking {
public:
    Ranking(std::string_view question, const std::shared_ptr<const engine::Model>& model, Store& store)
        : model_(model), store_(store), before_(model->tokenizer()->encode("Text: ", true)),
          question_(model->tokenizer()->encode("\n\nQuestion: " + std::string(question), false))
    {
        question_.resize(std::min(question_.size(), most_question_tokens));
        const auto context = static_cast<size_t>(model->config().context),
                   taken = before_.size() + question_.size();
        room_ = context - std::min(context, taken);
    }

    std::optional<double> loss(const StoredPassage& passage, const std::stop_token& stop) const
    {
        std::vector<engine::TokenId> context = before_;
        const uint64_t fits = std::min(passage.tokens(), room_);
        const auto ids = store_.library.ids(passage.document, passage.first_token, fits);
        context.insert(context.end(), ids.begin(), ids.end());
        return engine::conditional_loss(model_, context, question_, stop);
    }

private:
    const std::shared_ptr<const engine::Model>& model_;
    Store& store_;
    std::vector<engine::TokenId> before_, question_;
    uint64_t room_ = 0; // tokens of a passage that fit the model's context
};

// The likelihoods of the first hits: as many as the time allows, or none.
std::vector<double> likelihoods_of(std::span<const PassageHit> hits, const Ranking& ranking, double seconds,
                                   const std::stop_token& stop)
{
    using Clock = std::chrono::steady_clock;
    const auto begin = Clock::now();
    std::vector<double> likelihoods;
    for (const PassageHit& hit : hits) {
        const double passed = std::chrono::duration<double>(Clock::now() - begin).count();
        const size_t done = likelihoods.size();
        const size_t worth = std::min(least_ranked, hits.size());
        if (passed >= seconds) break;
        if (done == tried && passed / static_cast<double>(done) * static_cast<double>(worth) > seconds) return {};
        const auto loss = ranking.loss(hit.passage, stop);
        if (!loss) break;
        likelihoods.push_back(-*loss);
    }
    return likelihoods;
}

} // namespace

RankedPassages rank_passages(std::vector<PassageHit> hits, std::string_view question,
                             const std::shared_ptr<const engine::Model>& model, Store& store, double seconds,
                             const std::stop_token& stop)
{
    const size_t count = std::min(hits.size(), most_ranked);
    if (count < 2 || seconds <= 0 || !model->tokenizer()) return {.hits = std::move(hits)};
    const auto likelihoods =
        likelihoods_of(std::span(hits).first(count), Ranking(question, model, store), seconds, stop);
    if (likelihoods.size() < 2) return {.hits = std::move(hits)};
    std::vector<double> scores;
    for (size_t i = 0; i < count; ++i)
        scores.push_back(hits[i].score);
    scores = standardised(scores);
    const std::vector<double> by_model = standardised(likelihoods);
    for (size_t i = 0; i < by_model.size(); ++i)
        scores[i] += weight_of_likelihood * by_model[i];
    std::vector<size_t> order(count);
    std::iota(order.begin(), order.end(), size_t{0});
    std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return scores[a] > scores[b]; });
    RankedPassages result{.ranked = by_model.size()};
    for (const size_t i : order)
        result.hits.push_back({hits[i].passage, scores[i]});
    for (size_t i = count; i < hits.size(); ++i)
        result.hits.push_back({hits[i].passage, scores[order.back()]});
    return result;
}

} // namespace palimpsest::storage
