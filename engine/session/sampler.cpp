#include "engine/session/sampler.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <cstdio>
#include <string>
#include <utility>

#include "engine/policy/split_mix.h"
#include "kernels/backend.h"
#include "kernels/base/error.h"

namespace palimpsest::engine {
namespace {

constexpr int32_t most_repeat_last = 1 << 20;
constexpr size_t most_best = kernels::BestLogitsArgs::most;

std::string shown(double value)
{
    char text[32];
    std::snprintf(text, sizeof text, "%g", value);
    return text;
}

[[noreturn]] void refuse(Setting setting, Text what)
{
    throw Error(ErrorKind::Usage, ErrorCode::SamplingOutOfRange, Text(setting), std::move(what),
                Text("choose a value in that range"));
}

// Written so that NaN fails.
void require_within(Setting setting, double value, double least, double most)
{
    if (value >= least && value <= most) return;
    refuse(setting, Text("it is {0}, allowed is {1} to {2}", shown(value), shown(least), shown(most)));
}

void require_above_zero(Setting setting, double value, double most)
{
    if (value > 0 && value <= most) return;
    refuse(setting, Text("it is {0}, allowed is above {1} and at most {2}", shown(value), 0, shown(most)));
}

SamplerOptions checked(const SamplerOptions& o)
{
    require_within(Setting::Temperature, o.temperature, 0, 100);
    if (o.top_k < 0) refuse(Setting::TopK, Text("it is {0}, allowed is 0 (off) or more", o.top_k));
    require_above_zero(Setting::TopP, o.top_p, 1);
    require_within(Setting::MinP, o.min_p, 0, 1);
    require_above_zero(Setting::RepeatPenalty, o.repeat_penalty, 100);
    if (o.repeat_last < 0 || o.repeat_last > most_repeat_last)
        refuse(Setting::RepeatLast, Text("it is {0}, allowed is {1} to {2}", o.repeat_last, 0, most_repeat_last));
    return o;
}

constexpr auto by_id = [](const auto& a, const auto& b) { return a.id < b.id; };
constexpr auto likelier = [](const auto& a, const auto& b) {
    return a.value != b.value ? a.value > b.value : a.id < b.id;
};

[[noreturn]] void refuse_state()
{
    throw Error(ErrorKind::Failed, ErrorCode::DamagedSnapshot, Text("snapshot"),
                Text("its sampler state is damaged or belongs to other options"),
                Text("the text is safe: read the document again"));
}

void put(uint64_t value, int bytes, std::vector<std::byte>& out)
{
    for (int i = 0; i < bytes; ++i)
        out.push_back(static_cast<std::byte>(value >> (8 * i)));
}

uint64_t get(std::span<const std::byte> bytes)
{
    uint64_t value = 0;
    for (size_t i = bytes.size(); i-- > 0;)
        value = value << 8 | std::to_integer<uint64_t>(bytes[i]);
    return value;
}

} // namespace

Sampler::Sampler(const SamplerOptions& options) : options_(checked(options)), random_(options.seed) {}

TokenId Sampler::sample(std::span<const float> logits)
{
    assert(!logits.empty());
    candidates_.clear();
    for (size_t i = 0; i < logits.size(); ++i)
        consider(static_cast<TokenId>(i), logits[i]);
    return choose();
}

int32_t Sampler::best_needed() const
{
    size_t needed = options_.temperature == 0 ? 1 : static_cast<size_t>(options_.top_k);
    if (needed == 0) return 0;
    if (options_.repeat_penalty != 1) {
        const size_t penalized = remembered().size();
        // A penalty above 1 lowers the logits of recent tokens, so each of them may drop out of the best: one more
        // logit is needed per recent token. A penalty below 1 may make any recent token the best, so all logits are
        // needed.
        if (options_.repeat_penalty < 1 && penalized > 0) return 0;
        needed += penalized;
    }
    return needed <= most_best ? static_cast<int32_t>(needed) : 0;
}

TokenId Sampler::sample_best(std::span<const float> best, std::span<const TokenId> ids)
{
    assert(!best.empty() && best.size() == ids.size() && best_needed() > 0);
    candidates_.clear();
    for (size_t i = 0; i < best.size(); ++i)
        consider(ids[i], best[i]);
    std::sort(candidates_.begin(), candidates_.end(), by_id);
    return choose();
}

void Sampler::consider(TokenId id, float logit)
{
    if (!std::isfinite(logit)) refuse_logit(id);
    candidates_.push_back({id, logit});
}

// Chooses the same token from the best logits alone as from all of them: tokens that top-k removes have no
// influence.
TokenId Sampler::choose()
{
    penalize_repeats();
    const auto less = [](const Candidate& a, const Candidate& b) { return a.value < b.value; };
    const Candidate best = *std::max_element(candidates_.begin(), candidates_.end(), less);
    if (options_.temperature == 0) return best.id;

    keep_top_k();
    for (Candidate& c : candidates_)
        c.value = std::exp((c.value - best.value) / options_.temperature);
    keep_likely();
    double sum = 0;
    for (const Candidate& c : candidates_)
        sum += c.value;
    double left = next_uniform() * sum;
    for (const Candidate& c : candidates_)
        if ((left -= c.value) < 0) return c.id;
    return best.id; // reached only by rounding
}

void Sampler::accept(TokenId token)
{
    if (options_.repeat_last == 0) return;
    if (std::ssize(recent_) == options_.repeat_last) recent_.erase(recent_.begin());
    recent_.push_back(token);
}

void Sampler::restart(const SamplerOptions& options)
{
    options_ = checked(options);
    random_ = options.seed;
    if (std::ssize(recent_) > options.repeat_last)
        recent_.erase(recent_.begin(), recent_.end() - options.repeat_last);
}

// The recent tokens, each once, ascending.
std::vector<TokenId> Sampler::remembered() const
{
    std::vector<TokenId> seen = recent_;
    std::sort(seen.begin(), seen.end());
    seen.erase(std::unique(seen.begin(), seen.end()), seen.end());
    return seen;
}

void Sampler::penalize_repeats()
{
    if (options_.repeat_penalty == 1) return;
    for (TokenId token : remembered()) {
        const auto found = std::lower_bound(candidates_.begin(), candidates_.end(), Candidate{token, 0}, by_id);
        if (found == candidates_.end() || found->id != token) continue;
        double& logit = found->value;
        logit = logit > 0 ? logit / options_.repeat_penalty : logit * options_.repeat_penalty;
    }
}

// Orders by logit, not by probability: rounding can make probabilities equal whose logits differ, and then more
// than k logits would have to be known.
void Sampler::keep_top_k()
{
    const auto top_k = static_cast<size_t>(options_.top_k);
    if (top_k == 0 || top_k > candidates_.size()) return;
    // Sorts, so that sums over the candidates depend neither on how the library would partition them nor on the
    // tokens that are left out.
    std::partial_sort(candidates_.begin(), candidates_.begin() + options_.top_k, candidates_.end(), likelier);
    candidates_.resize(top_k);
}

// Applies top-p and min-p. Values are probabilities relative to the largest.
void Sampler::keep_likely()
{
    const auto at = [&](size_t index) { return candidates_.begin() + static_cast<std::ptrdiff_t>(index); };
    if (options_.top_p < 1) {
        double sum = 0, reached = 0;
        for (const Candidate& c : candidates_)
            sum += c.value;
        size_t kept = 0;
        // The set is usually small and the vocabulary large, so this sorts only as far as the set extends.
        for (size_t head = 256; kept < candidates_.size() && reached < options_.top_p * sum; head *= 8) {
            head = std::min(head, candidates_.size());
            std::partial_sort(at(kept), at(head), candidates_.end(), likelier);
            while (kept < head && reached < options_.top_p * sum)
                reached += candidates_[kept++].value;
        }
        candidates_.resize(kept);
    }
    if (options_.min_p > 0)
        std::erase_if(candidates_, [&](const Candidate& c) { return c.value < options_.min_p; });
}

double Sampler::next_uniform()
{
    const uint64_t next = split_mix(random_);
    random_ += split_mix_step;
    return static_cast<double>(next >> 11) * 0x1p-53;
}

std::vector<std::byte> Sampler::state() const
{
    std::vector<std::byte> out;
    put(random_, 8, out);
    put(recent_.size(), 4, out);
    for (TokenId token : recent_)
        put(static_cast<uint32_t>(token), 4, out);
    return out;
}

void Sampler::restore(std::span<const std::byte> state)
{
    if (state.size() < 12) refuse_state();
    const uint64_t count = get(state.subspan(8, 4));
    if (count > static_cast<uint64_t>(options_.repeat_last) || state.size() != 12 + 4 * count) refuse_state();
    std::vector<TokenId> recent;
    for (size_t i = 12; i < state.size(); i += 4)
        recent.push_back(static_cast<TokenId>(get(state.subspan(i, 4))));
    random_ = get(state.first(8));
    recent_ = std::move(recent);
}

void refuse_logit(TokenId id)
{
    throw Error(
        ErrorKind::Failed, ErrorCode::ModelG15, Text("model"),
        Text("it computed a value that is not a number for token {0}", id),
        Text("nothing was stored as an answer; the weights may be damaged: verify the model; if its cache is "
             "f16, its keys and values may be too large for that: set {0} to {1}",
             Setting::KvType, "bf16"));
}

} // namespace palimpsest::engine
