#include "engine/session/session.h"

#include <algorithm>
#include <cassert>
#include <chrono>

#include "engine/session/cache_bytes.h"
#include "engine/session/session_eviction.h"
#include "engine/session/token_loss.h"
#include "kernels/backends/host_threads.h"
#include "kernels/base/error.h"

namespace palimpsest::engine {
namespace {

class Stopwatch {
public:
    double seconds() const
    {
        return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
    }

private:
    std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

// Reserves the backend's scratch memory up front, so that no operation runs out of it.
void reserve_scratch(const Model& model, const CacheShape& cache, const TransformerShape& transformer)
{
    model.backend().reserve(work_bounds(model, cache, transformer, model.matrices()));
}

// Reports the losses of a super-chunk's tokens. `first`: stream index of the first of them; `logits`: those that
// predict it.
void report_losses(Transformer& transformer, TokenLosses& losses, std::span<const float> logits,
                   std::span<const TokenId> tokens, uint64_t first, const FeedOptions& options)
{
    constexpr int64_t at_once = 64;
    if (first > 0) options.loss(first, tokens[0], negative_log_likelihood(logits, tokens[0]));
    std::vector<float> block;
    for (int64_t begin = 0; begin + 1 < std::ssize(tokens); begin += at_once) {
        const int64_t rows = std::min(at_once, std::ssize(tokens) - 1 - begin);
        transformer.logits(begin, rows, block);
        const auto next = static_cast<size_t>(begin + 1);
        const auto predicted = tokens.subspan(next, static_cast<size_t>(rows));
        const auto row_losses = losses.compute(block, predicted);
        for (size_t r = 0; r < predicted.size(); ++r)
            options.loss(first + next + r, predicted[r], row_losses[r]);
    }
}

} // namespace

Session::Session(const std::shared_ptr<const Model>& model, const SessionOptions& options)
    : Session(model, set_up(options, model->config(), model->backend().at_once()))
{
}

Session::Session(const std::shared_ptr<const Model>& model, const SessionOptions& options,
                 std::unique_ptr<Policy> policy)
    : Session(model, set_up(options, model->config(), model->backend().at_once(), std::move(policy)))
{
}

Session::Session(const std::shared_ptr<const Model>& model, SessionSetup setup)
    : Session(model, setup, cache_shape(*model, setup.options, *setup.policy, 0), {})
{
}

Session::Session(std::shared_ptr<const Model> model, SessionSetup& setup, const CacheShape& shape,
                 std::vector<TokenId> question_ids)
    : model_(std::move(model)), options_(std::move(setup.options)), given_(options_.policy),
      policy_(std::move(setup.policy)), cache_(shape, model_->backend()),
      transformer_(*model_, transformer_shape(model_->config(), shape, options_, *policy_,
                                              static_cast<int32_t>(question_ids.size()))),
      sampler_(options_.sampler), question_ids_(std::move(question_ids))
{
    options_.policy = policy_->resolved();
    eviction_ = eviction_of(shape);
    lists().pin(options_.pins, layers_with_pins(*policy_, shape.layers));
    reserve_scratch(*model_, cache_.shape(),
                    transformer_shape(model_->config(), cache_.shape(), options_, *policy_,
                                      static_cast<int32_t>(question_ids_.size())));
}

Session::Session(const Session& other, KvCache cache)
    : model_(other.model_), options_(other.options_), given_(other.given_), policy_(other.policy_->clone()),
      cache_(std::move(cache)),
      transformer_(*model_, transformer_shape(model_->config(), cache_.shape(), options_, *policy_,
                                              static_cast<int32_t>(other.question_ids_.size()))),
      sampler_(other.sampler_), question_ids_(other.question_ids_), logits_(other.logits_),
      has_logits_(other.has_logits_), last_token_(other.last_token_), tokens_seen_(other.tokens_seen_),
      steps_seen_(other.steps_seen_), evicted_(other.evicted_)
{
    eviction_ = other.eviction_->clone(*this);
    lists().pin(options_.pins, layers_with_pins(*policy_, cache_.shape().layers));
    if (policy_->retrieval()) transformer_.bound_pages(cache_);
}

Session::~Session() = default;

TokenLists& Session::lists() const
{
    return eviction_->lists();
}

void Session::sync() const
{
    if (!cache_.shape().resident || lists().is_syncing()) return;
    transformer_.set_dropped_ranks(*eviction_);
    lists().sync();
}

// Syncs one super-chunk behind: the host applies a super-chunk's evictions while the device computes the next one.
// After the last super-chunk it syncs fully.
void Session::sync_previous(bool last)
{
    if (last) return lists().sync();
    lists().switch_log();
    lists().sync_earlier();
}

void Session::set_eviction_sink(EvictionSink sink)
{
    sync();
    eviction_sink_ = std::move(sink);
}

RetentionMap Session::retention() const
{
    sync();
    return RetentionMap::of(lists(), tokens_seen_);
}

void Session::check_tokens(std::span<const TokenId> tokens) const
{
    for (const TokenId token : tokens)
        if (token < 0 || token >= model_->config().vocabulary)
            throw Error(ErrorKind::Failed, ErrorCode::UnknownToken, Text("token {0}", token),
                        Text("the model's vocabulary has {0} entries", model_->config().vocabulary),
                        Text("use ids of this model's tokenizer"));
}

bool Session::feed(std::span<const TokenId> tokens, const FeedOptions& options)
{
    check_tokens(tokens);
    const std::vector<TokenId> waiting = pending_;
    const uint64_t seen = tokens_seen_;
    pending_.insert(pending_.end(), tokens.begin(), tokens.end());
    if (run(std::ssize(pending_) / options_.chunk * options_.chunk, options)) return true;
    if (tokens_seen_ == seen) pending_ = waiting; // tokens that an earlier call fed stay pending
    return false;
}

bool Session::finish(const FeedOptions& options)
{
    if (!run(std::ssize(pending_), options)) return false;
    if (policy_->waits_for_end() && tokens_seen_ > 0) end_prefill();
    return true;
}

void Session::end_prefill()
{
    sync();
    cache_.defragment();
    policy_->end_prefill();
    std::vector<AttendedLayer> layers;
    layers.reserve(static_cast<size_t>(cache_.shape().layers));
    for (int32_t l = 0; l < cache_.shape().layers; ++l)
        layers.push_back({.layer = l});
    eviction_->evict(layers, 0, kernels::Phase::Prefill);
    lists().sync();
}

void Session::set_question_ids(std::vector<TokenId> tokens)
{
    if (tokens == question_ids_) return;
    check_tokens(tokens);
    check_positions(*policy_, options_, model_->config(), std::ssize(tokens));
    rebuild(*policy_, options_.pins, static_cast<int32_t>(tokens.size()));
    question_ids_ = std::move(tokens);
}

// Computes the first `tokens` pending tokens: whole chunks, and a shorter one at the end of the input.
// A batch is removed from pending_ before it is computed, so that no token is read twice after an exception.
bool Session::run(int64_t tokens, const FeedOptions& options)
try {
    const Stopwatch watch;
    const uint64_t seen_before = tokens_seen_;
    const bool layers_first = cache_.shape().stage_every_layer;
    const int64_t rows_at_once =
        layers_first ? options_.chunk : options_.rows_at_once / options_.chunk * options_.chunk;
    std::vector<TokenId> batch;
    std::optional<TokenLosses> losses; // made for the first batch whose losses are asked for
    if (tokens > 0) sync();
    while (tokens > 0) {
        if (options.stop.stop_requested()) {
            pending_.clear();
            lists().sync();
            return false;
        }
        const auto rows = std::min(rows_at_once, tokens);
        check_room(rows, std::ssize(question_ids_));
        batch.assign(pending_.begin(), pending_.begin() + rows);
        pending_.erase(pending_.begin(), pending_.begin() + rows);
        tokens -= rows;
        const int64_t whole = rows / options_.chunk, rest = rows % options_.chunk;
        std::vector<int32_t> chunks(static_cast<size_t>(whole), options_.chunk);
        if (rest > 0) chunks.push_back(static_cast<int32_t>(rest));
        // The next rows overwrite the activations that the last token's logits are computed from. These logits are
        // needed for the next token's loss, and again if a stop within the chunk undoes it.
        const bool may_be_taken_back = layers_first && options.stop.stop_possible();
        if ((options.loss || may_be_taken_back) && tokens_seen_ > 0) compute_logits();
        if (!transformer_.prefill(batch, chunks, tokens_seen_, question_ids_, cache_, *eviction_, options.stop)) {
            pending_.clear();
            lists().sync();
            return false;
        }
        // The batch is in the cache now: account for it before anything can throw.
        const uint64_t first = tokens_seen_;
        has_logits_ = false;
        last_token_ = batch.back();
        tokens_seen_ += batch.size();
        steps_seen_ += chunks.size();
        sync_previous(tokens == 0);
        if (options.loss) {
            if (!losses) losses.emplace(kernels::host_threads(model_->backend()));
            report_losses(transformer_, *losses, logits_, batch, first, options);
        }
        const bool is_behind = cache_.shape().resident && tokens > 0; // the device still computes this batch
        const uint64_t computed = tokens_seen_ - seen_before - (is_behind ? batch.size() : 0);
        if (computed > 0) tokens_per_second_ = static_cast<double>(computed) / std::max(watch.seconds(), 1e-9);
        if (options.progress) options.progress(telemetry());
    }
    return true;
} catch (...) {
    pending_.clear();
    throw;
}

std::unique_ptr<Policy> Session::policy_beside(const Pins& pins) const
{
    SessionOptions changed = options_;
    changed.policy = with_original_defaults(given_, options_.policy);
    changed.pins = pins;
    auto policy = policy_of(changed, model_->config());
    check_positions(*policy, changed, model_->config(), std::ssize(question_ids_));
    if (policy->waits_for_end() && !policy_->waits_for_end()) policy->resume_ended();
    return policy;
}

void Session::set_pins(const Pins& pins)
{
    if (pins == options_.pins) return;
    auto policy = policy_beside(pins);
    const auto question_rows = static_cast<int32_t>(question_ids_.size());
    const CacheShape shape = cache_shape(*model_, options_, *policy, question_rows);
    // The forward pass is made for the number of tokens that a retrieval policy reads, which depends on the pins.
    if (shape.list_budget != cache_.shape().list_budget || shape.total_slots != cache_.shape().total_slots ||
        shape.resident != cache_.shape().resident || policy->retrieval()) {
        rebuild(*policy, pins, question_rows);
    } else {
        sync();
        lists().pin(pins, layers_with_pins(*policy, shape.layers));
        transformer_.discard_recording();
    }
    policy_ = std::move(policy);
    options_.policy = policy_->resolved();
    options_.pins = pins;
}

void Session::rebuild(const Policy& policy, const Pins& pins, int32_t question_rows)
{
    if (tokens_seen_ > 0) compute_logits(); // while the activations of the old forward pass exist
    sync();
    const CacheShape shape = with_room_for(cache_shape(*model_, options_, policy, question_rows), cache_.used());
    KvCache cache = cache_.reshaped(shape);
    const TransformerShape made_for = transformer_shape(model_->config(), shape, options_, policy, question_rows);
    Transformer transformer(*model_, made_for);
    if (policy.retrieval()) transformer.bound_pages(cache);
    auto eviction = eviction_of(shape);
    for (int32_t l = 0; l < shape.layers; ++l)
        for (int32_t h = 0; h < shape.heads.kv_heads; ++h)
            eviction->lists().write(l, h, lists().tokens(l, h));
    eviction->lists().pin(pins, layers_with_pins(policy, shape.layers));
    reserve_scratch(*model_, shape, made_for);
    cache_ = std::move(cache);
    transformer_ = std::move(transformer);
    eviction_ = std::move(eviction);
}

double Session::held(const TokenRange& range) const
{
    sync();
    return engine::held(lists(), tokens_seen_, range);
}

int64_t Session::slots_left() const
{
    int64_t left = INT64_MAX;
    for (int32_t l = 0; l < cache_.shape().layers; ++l)
        for (int32_t h = 0; !policy_->layer_bounded(l) && h < cache_.shape().heads.kv_heads; ++h)
            left = std::min<int64_t>(left, cache_.capacity(l, h) - cache_.used(l, h));
    return left;
}

bool Session::has_room(int64_t tokens, int64_t question_rows) const
{
    const auto total = static_cast<int64_t>(tokens_seen_) + tokens;
    return total <= int64_t{UINT32_MAX} &&
           (options_.positions == PositionMode::Contiguous || total + question_rows <= model_->config().context) &&
           (policy_->bounded() || tokens + question_rows <= slots_left());
}

void Session::check_room(int64_t tokens, int64_t question_rows) const
{
    if (has_room(tokens, question_rows)) return;
    const int64_t total = static_cast<int64_t>(tokens_seen_) + tokens;
    if (total > int64_t{UINT32_MAX})
        throw Error(ErrorKind::Failed, ErrorCode::StreamTooLong, Text("document"),
                    Text("the stream is longer than {0} tokens", "4,294,967,295"), Text("start a new session"));
    const int64_t context = model_->config().context;
    if (options_.positions == PositionMode::Original && total + question_rows > context)
        throw Error(ErrorKind::Resources, ErrorCode::PositionsExhausted,
                    Text("{0} {1}", Setting::Positions, "original"),
                    Text("the model was trained on {0} positions and more are needed", context),
                    Text("set {0} to {1}", Setting::Positions, "contiguous"));
    const int64_t capacity = policy_->capacity();
    const int64_t needed = capacity - slots_left() + tokens + question_rows;
    Unbounded why = why_unbounded(*policy_, options_);
    throw Error(ErrorKind::Resources, ErrorCode::CacheFull, Text("policy '{0}'", options_.policy.name),
                Text("{0}, its capacity is {1} tokens and {2} are needed", std::move(why.reason), capacity, needed),
                std::move(why.remedy));
}

const std::vector<float>& Session::logits()
{
    finish();
    assert(tokens_seen_ > 0);
    compute_logits();
    return logits_;
}

void Session::compute_logits()
{
    if (!has_logits_) transformer_.last_logits(logits_);
    has_logits_ = true;
}

TokenId Session::choose()
{
    if (has_logits_ || !transformer_.has_best_logits()) return sampler_.sample(logits());
    const int32_t needed = sampler_.best_needed();
    if (needed == 0) return sampler_.sample(logits());
    const Transformer::BestLogits of = transformer_.best_logits();
    if (of.first_bad < model_->config().vocabulary) refuse_logit(of.first_bad);
    const size_t count = std::min(of.best.size(), static_cast<size_t>(needed));
    return sampler_.sample_best(of.best.first(count), of.ids.first(count));
}

GenerateResult Session::generate(const GenerateOptions& options)
{
    const Stopwatch watch;
    GenerateResult result;
    if (options.stop.stop_requested() || !finish_or_wait(options.stop)) {
        result.end = GenerateEnd::Cancelled;
        return result;
    }
    for (;;) {
        if (!result.tokens.empty() && options.stop.stop_requested()) {
            result.end = GenerateEnd::Cancelled;
            break;
        }
        if (std::ssize(result.tokens) >= options.max_tokens) {
            result.end = GenerateEnd::Length;
            break;
        }
        if (!has_room(1, 0)) {
            result.end = GenerateEnd::Full;
            break;
        }
        const TokenId token = choose();
        if (options.is_end && options.is_end(token)) {
            result.end = GenerateEnd::EndOfText;
            break;
        }
        decode(token);
        result.tokens.push_back(token);
        if (options.token && !options.token(token)) {
            result.end = GenerateEnd::Stopped;
            break;
        }
    }
    tokens_per_second_ = static_cast<double>(result.tokens.size()) / std::max(watch.seconds(), 1e-9);
    return result;
}

void Session::set_sampler(const SamplerOptions& options)
{
    sampler_.restart(options);
    options_.sampler = options;
}

bool Session::finish_or_wait(std::stop_token stop)
{
    const std::vector<TokenId> waiting = pending_;
    if (finish({.stop = std::move(stop), .progress = {}, .loss = {}})) return true;
    pending_ = waiting;
    return false;
}

std::optional<int64_t> Session::replay(std::span<const TokenId> tokens, bool ended, const std::stop_token& stop)
{
    check_tokens(tokens);
    if (!finish_or_wait(stop)) return std::nullopt;
    int64_t count = 0;
    if (tokens_seen_ == 0) return count;
    for (const TokenId token : tokens) {
        if (stop.stop_requested()) break;
        choose();
        decode(token);
        ++count;
    }
    if (ended && count == std::ssize(tokens)) choose();
    return count;
}

void Session::decode(TokenId token)
{
    check_room(1, 0);
    transformer_.set_dropped_ranks(*eviction_);
    if (!observer_) eviction_->plan_token();
    transformer_.decode(token, tokens_seen_, cache_, *eviction_);
    sampler_.accept(token);
    has_logits_ = false;
    last_token_ = token;
    ++tokens_seen_;
    ++steps_seen_;
    lists().sync(); // syncs earlier steps while the device computes this token
}

Telemetry Session::telemetry() const
{
    return {.tokens_seen = tokens_seen_,
            .tokens_per_second = tokens_per_second_,
            .cache_bytes = cache_.allocated_bytes() + lists().allocated_bytes(),
            .scratch_bytes = transformer_.allocated_bytes() + model_->backend().scratch_bytes(),
            .full_cache_bytes = cache_bytes(model_->config(), *options_.kv_type, tokens_seen_),
            .slots_used = cache_.slots_used(),
            .slots_capacity = cache_.slots_capacity(),
            .evicted = evicted_};
}

std::unique_ptr<Session> Session::fork()
{
    if (tokens_seen_ > 0 || !pending_.empty()) logits();
    sync();
    return std::unique_ptr<Session>(new Session(*this, cache_.clone()));
}

} // namespace palimpsest::engine
