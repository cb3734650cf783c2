#include "engine/session/session.h"

#include <algorithm>
#include <cassert>
#include <chrono>
#include <cmath>

#include "kernels/base/error.h"

namespace palimpsest::engine {
namespace {

constexpr int32_t default_budget = 2048;
constexpr int32_t longest_chunk = 1 << 20;

// Of the forward pass of a token, attention and logits left out.
double operations(const ModelConfig& m)
{
    const double projections = 1.0 * m.dim * m.head_dim * (2.0 * m.heads + 2.0 * m.kv_heads);
    return 2.0 * m.layers * (projections + 3.0 * m.dim * m.ffn);
}

[[noreturn]] void refuse_option(const std::string& option, const std::string& what, const std::string& remedy)
{
    throw Error(ErrorKind::Usage, "PAL-OPTION-03", option, what, remedy);
}

// Whether a policy keeps everything does not depend on its budget, but the budget's default does on that.
bool is_bounded(const PolicySpec& spec, const ModelConfig& model)
{
    constexpr int32_t any_budget = 1 << 20;
    return make_policy({spec.name, {}}, {model.layers, model.kv_heads, any_budget})->bounded();
}

SessionOptions resolve(SessionOptions options, const ModelConfig& model, bool bounded)
{
    if (options.chunk < 1)
        refuse_option("--chunk", "a chunk of " + std::to_string(options.chunk) + " tokens is not possible",
                      "give 1 or more");
    if (options.chunk > longest_chunk)
        refuse_option("--chunk", "a chunk of " + std::to_string(options.chunk) + " tokens is too long",
                      "give at most " + std::to_string(longest_chunk));
    if (options.budget < 0)
        refuse_option("--budget", "a budget of " + std::to_string(options.budget) + " tokens is not possible",
                      "give 1 or more");
    if (!options.kv_type)
        options.kv_type = model.stored_type == kernels::DType::BF16 ? kernels::DType::BF16 : kernels::DType::F16;
    if (*options.kv_type == kernels::DType::Q8_0)
        refuse_option("--kv-type", "q8 is not in this version", "use f32, f16 or bf16");
    if (options.budget == 0)
        options.budget = bounded ? std::min(default_budget, model.context - options.chunk) : model.context;
    if (options.budget < 1)
        throw Error(ErrorKind::Usage, "PAL-BUDGET-01", "--chunk",
                    "a chunk of " + std::to_string(options.chunk) + " leaves no room in the " +
                        std::to_string(model.context) + " positions the model was trained on",
                    "give a smaller --chunk");
    // So many that stopping between super-chunks takes effect in time (P14).
    constexpr double operations_at_once = 5e10;
    const auto rows = static_cast<int64_t>(operations_at_once / operations(model));
    if (!options.stops_within_chunk) options.stops_within_chunk = rows < options.chunk;
    if (*options.stops_within_chunk) options.rows_at_once = options.chunk;
    options.rows_at_once =
        std::max<int32_t>(static_cast<int32_t>(std::min<int64_t>(options.rows_at_once, rows)), options.chunk);
    return options;
}

int32_t longest_list(const Policy& policy, const ModelConfig& model)
{
    int32_t longest = 0;
    for (int32_t l = 0; l < model.layers; ++l)
        for (int32_t h = 0; h < model.kv_heads; ++h)
            longest = std::max(longest, policy.list_budget(l, h));
    return longest;
}

// Contiguous positions never exceed the longest list and a chunk; the model must have been trained on them.
std::unique_ptr<Policy> fitting(std::unique_ptr<Policy> policy, const SessionOptions& options,
                                const ModelConfig& model)
{
    const int64_t longest = longest_list(*policy, model);
    const bool beside = policy->bounded() && options.positions == PositionMode::Contiguous;
    const int64_t positions = beside ? longest + options.chunk : std::max<int64_t>(longest, options.chunk);
    if (positions <= model.context) return policy;
    throw Error(ErrorKind::Usage, "PAL-BUDGET-01", "--budget",
                "a budget of " + std::to_string(options.budget) + " and a chunk of " +
                    std::to_string(options.chunk) + " need " + std::to_string(positions) +
                    " positions, but the model was trained on " + std::to_string(model.context),
                "give a smaller --budget or --chunk");
}

std::unique_ptr<Policy> policy_for(const SessionOptions& given, const ModelConfig& model)
{
    const SessionOptions options = resolve(given, model, is_bounded(given.policy, model));
    return make_policy(options.policy, {model.layers, model.kv_heads, options.budget, options.pins});
}

CacheShape shape_of(const Model& model, const SessionOptions& options, const Policy& policy)
{
    const ModelConfig& c = model.config();
    CacheShape shape{.layers = c.layers,
                     .heads = model.head_shape(),
                     .type = *options.kv_type,
                     .chunk = options.chunk,
                     .stage_every_layer = policy.couples_layers() || *options.stops_within_chunk,
                     .with_signals = policy.signals().any(),
                     .list_budget = {}};
    for (int32_t l = 0; l < c.layers; ++l)
        for (int32_t h = 0; h < c.kv_heads; ++h)
            shape.list_budget.push_back(policy.list_budget(l, h));
    return shape;
}

Transformer transformer_for(const Model& model, const SessionOptions& options, const Policy& policy)
{
    return Transformer(model, options.positions, options.rows_at_once,
                       longest_list(policy, model.config()) + options.chunk, policy.signals());
}

// -log softmax(logits)[token], in double. Throws Error if the model has produced something that is not a number.
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
        throw Error(ErrorKind::Failed, "PAL-MODEL-15", "model", "its output is not a finite number",
                    "the weights are damaged; download the model again");
    return nll;
}

class Stopwatch {
public:
    double seconds() const
    {
        return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
    }

private:
    std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

} // namespace

// The session's side of a forward pass: signals in, policy, eviction, records out. Its buffers are kept from step
// to step.
class Session::Step final : public LayerStep {
public:
    explicit Step(Session& session) : s_(session) {}

    void attended(int32_t layer, int32_t chunk, int32_t rows, kernels::Phase phase, const float* sums,
                  int64_t stride) override
    {
        const int32_t heads = s_.cache_.shape().heads.kv_heads;
        if (sums) {
            columns_.resize(static_cast<size_t>(heads * stride));
            s_.model_->backend().download(columns_.data(), sums, columns_.size() * sizeof(float));
            s_.cache_.accumulate(layer, s_.policy_->signals().window, rows, columns_.data(), stride);
        }
        lists_.clear();
        tokens_.clear();
        for (int32_t h = 0; h < heads; ++h) {
            const TokenList& list = s_.cache_.list(layer, h);
            lists_.push_back({list.stream, list.sum, list.count});
            tokens_.push_back(&list);
        }
        s_.policy_->select(layer, lists_, dropped_);
        const uint64_t step = s_.steps_seen_ + static_cast<uint64_t>(chunk);
        report(layer, step, rows);
        for (const auto& gone : dropped_)
            s_.evicted_ += gone.size();
        if (phase == kernels::Phase::Prefill)
            s_.cache_.evict_chunk(layer, dropped_);
        else
            s_.cache_.evict_token(layer, dropped_);
    }

private:
    void report(int32_t layer, uint64_t step, int32_t rows)
    {
        if (s_.observer_) s_.observer_({layer, step, rows, lists_, dropped_});
        if (!s_.fade_sink_) return;
        events_.clear();
        for (const uint32_t token : faded(tokens_, dropped_))
            events_.push_back({layer, token, static_cast<uint32_t>(step)});
        if (!events_.empty()) s_.fade_sink_(events_);
    }

    Session& s_;                 // steps_seen_ is that of the super-chunk's first chunk
    std::vector<float> columns_; // [kv_heads, stride] on the host
    std::vector<ListState> lists_;
    std::vector<const TokenList*> tokens_;
    std::vector<std::vector<uint32_t>> dropped_;
    std::vector<FadeEvent> events_;
};

Session::Session(std::shared_ptr<const Model> model, const SessionOptions& options)
    : Session(model, options, policy_for(options, model->config()))
{
}

Session::Session(std::shared_ptr<const Model> model, const SessionOptions& options, std::unique_ptr<Policy> policy)
    : model_(std::move(model)), options_(resolve(options, model_->config(), policy->bounded())),
      given_(options.policy), policy_(fitting(std::move(policy), options_, model_->config())),
      cache_(shape_of(*model_, options_, *policy_), model_->backend()),
      transformer_(transformer_for(*model_, options_, *policy_)), step_(std::make_unique<Step>(*this)),
      sampler_(options_.sampler)
{
    options_.policy = policy_->resolved();
}

Session::Session(const Session& other, KvCache cache)
    : model_(other.model_), options_(other.options_), given_(other.given_), policy_(other.policy_->clone()),
      cache_(std::move(cache)), transformer_(transformer_for(*model_, options_, *policy_)),
      step_(std::make_unique<Step>(*this)), sampler_(other.sampler_), logits_(other.logits_),
      has_logits_(other.has_logits_), last_token_(other.last_token_), tokens_seen_(other.tokens_seen_),
      steps_seen_(other.steps_seen_), evicted_(other.evicted_)
{
}

Session::~Session() = default;

uint64_t Session::list_slots(const Model& model, const SessionOptions& given)
{
    const ModelConfig& c = model.config();
    const SessionOptions options = resolve(given, c, is_bounded(given.policy, c));
    const auto policy = fitting(policy_for(options, c), options, c);
    uint64_t slots = 0;
    for (int32_t l = 0; l < c.layers; ++l)
        for (int32_t h = 0; h < c.kv_heads; ++h)
            slots += static_cast<uint64_t>(policy->list_budget(l, h));
    return slots;
}

void Session::check_tokens(std::span<const TokenId> tokens) const
{
    for (const TokenId token : tokens)
        if (token < 0 || token >= model_->config().vocabulary)
            throw Error(ErrorKind::Failed, "PAL-TEXT-01", "token " + std::to_string(token),
                        "the model's vocabulary has " + std::to_string(model_->config().vocabulary) + " entries",
                        "use ids of this model's tokenizer");
}

bool Session::feed(std::span<const TokenId> tokens, const FeedOptions& options)
{
    check_tokens(tokens);
    const std::vector<TokenId> waiting = pending_;
    const uint64_t seen = tokens_seen_;
    pending_.insert(pending_.end(), tokens.begin(), tokens.end());
    if (run(std::ssize(pending_) / options_.chunk * options_.chunk, options)) return true;
    if (tokens_seen_ == seen) pending_ = waiting; // they were fed before
    return false;
}

bool Session::finish(const FeedOptions& options)
{
    return run(std::ssize(pending_), options);
}

// Computes the first `tokens` pending ones: whole chunks, and at the end of the input a shorter one.
// A batch leaves pending_ before it is computed: whatever is thrown, no token is read twice.
bool Session::run(int64_t tokens, const FeedOptions& options)
try {
    const Stopwatch watch;
    const uint64_t seen_before = tokens_seen_;
    const bool layers_first = policy_->couples_layers() || *options_.stops_within_chunk;
    const int64_t rows_at_once =
        layers_first ? options_.chunk : options_.rows_at_once / options_.chunk * options_.chunk;
    std::vector<TokenId> batch;
    while (tokens > 0) {
        if (options.stop.stop_requested()) {
            pending_.clear();
            return false;
        }
        const auto rows = std::min(rows_at_once, tokens);
        check_room(rows);
        batch.assign(pending_.begin(), pending_.begin() + rows);
        pending_.erase(pending_.begin(), pending_.begin() + rows);
        tokens -= rows;
        const int64_t whole = rows / options_.chunk, rest = rows % options_.chunk;
        std::vector<int32_t> chunks(static_cast<size_t>(whole), options_.chunk);
        if (rest > 0) chunks.push_back(static_cast<int32_t>(rest));
        // The last token's logits are wanted before the next rows overwrite what they are computed from: for its
        // loss, and if the next rows are taken back.
        const bool may_be_taken_back = layers_first && options.stop.stop_possible();
        if ((options.loss || may_be_taken_back) && tokens_seen_ > 0) compute_logits();
        if (!transformer_.prefill(batch, chunks, tokens_seen_, cache_, layers_first, *step_, options.stop)) {
            pending_.clear();
            return false;
        }
        if (options.loss) report_losses(batch, options);
        has_logits_ = false;
        last_token_ = batch.back();
        tokens_seen_ += batch.size();
        steps_seen_ += chunks.size();
        tokens_per_second_ = static_cast<double>(tokens_seen_ - seen_before) / std::max(watch.seconds(), 1e-9);
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
    changed.policy = given_;
    changed.pins = pins;
    auto policy = policy_for(changed, model_->config());
    for (int32_t l = 0; l < cache_.shape().layers; ++l)
        for (int32_t h = 0; h < cache_.shape().heads.kv_heads; ++h)
            if (policy->list_budget(l, h) != cache_.capacity(l, h))
                refuse_option("pins", "this session's lists were not made for other pins",
                              "begin a new session with --pin");
    return policy;
}

void Session::set_pins(const Pins& pins)
{
    if (pins == options_.pins) return;
    policy_ = policy_beside(pins);
    options_.policy = policy_->resolved();
    options_.pins = pins;
}

double Session::held(const TokenRange& range) const
{
    const auto last = static_cast<uint32_t>(std::min<uint64_t>(range.last, tokens_seen_));
    if (range.first >= last) return 0;
    const CacheShape& shape = cache_.shape();
    uint64_t held = 0;
    for (int32_t l = 0; l < shape.layers; ++l)
        for (int32_t h = 0; h < shape.heads.kv_heads; ++h) {
            const auto& stream = cache_.list(l, h).stream;
            held += static_cast<uint64_t>(std::lower_bound(stream.begin(), stream.end(), last) -
                                          std::lower_bound(stream.begin(), stream.end(), range.first));
        }
    return static_cast<double>(held) /
           (static_cast<double>(last - range.first) * shape.layers * shape.heads.kv_heads);
}

bool Session::has_room(int64_t tokens) const
{
    const auto total = static_cast<int64_t>(tokens_seen_) + tokens;
    return total <= int64_t{UINT32_MAX} &&
           (options_.positions == PositionMode::Contiguous || total <= model_->config().context) &&
           (policy_->bounded() || total <= policy_->list_budget(0, 0));
}

void Session::check_room(int64_t tokens) const
{
    if (has_room(tokens)) return;
    if (tokens_seen_ + static_cast<uint64_t>(tokens) > UINT32_MAX)
        throw Error(ErrorKind::Failed, "PAL-TEXT-02", "document", "the stream is longer than 4,294,967,295 tokens",
                    "start a new session");
    const int64_t context = model_->config().context;
    if (options_.positions == PositionMode::Original && static_cast<int64_t>(tokens_seen_) + tokens > context)
        throw Error(ErrorKind::Resources, "PAL-BUDGET-03", "--positions original",
                    "the model was trained on " + std::to_string(context) + " positions and more are needed",
                    "use --positions contiguous");
    const int64_t capacity = policy_->list_budget(0, 0);
    throw Error(ErrorKind::Resources, "PAL-BUDGET-02", "--policy " + options_.policy.name,
                "it keeps every token, its capacity is " + std::to_string(capacity) + " tokens and " +
                    std::to_string(static_cast<int64_t>(tokens_seen_) + tokens) + " are needed",
                "use a policy with a budget, such as treekv");
}

void Session::report_losses(std::span<const TokenId> tokens, const FeedOptions& options)
{
    constexpr int64_t at_once = 64;
    const auto vocabulary = static_cast<size_t>(model_->config().vocabulary);
    if (tokens_seen_ > 0) options.loss(tokens_seen_, tokens[0], negative_log_likelihood(logits_, tokens[0]));
    std::vector<float> block;
    for (int64_t begin = 0; begin + 1 < std::ssize(tokens); begin += at_once) {
        const int64_t rows = std::min(at_once, std::ssize(tokens) - 1 - begin);
        transformer_.logits(begin, rows, block);
        for (int64_t r = 0; r < rows; ++r) {
            const auto next = static_cast<size_t>(begin + r + 1);
            const std::span<const float> row(block.data() + static_cast<size_t>(r) * vocabulary, vocabulary);
            options.loss(tokens_seen_ + next, tokens[next], negative_log_likelihood(row, tokens[next]));
        }
    }
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
        if (!has_room(1)) {
            result.end = GenerateEnd::Full;
            break;
        }
        const TokenId token = sampler_.sample(logits());
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

std::optional<int64_t> Session::replay(std::span<const TokenId> tokens, bool ended, std::stop_token stop)
{
    check_tokens(tokens);
    if (!finish_or_wait(stop)) return std::nullopt;
    int64_t count = 0;
    if (tokens_seen_ == 0) return count;
    for (const TokenId token : tokens) {
        if (stop.stop_requested()) break;
        sampler_.sample(logits());
        decode(token);
        ++count;
    }
    if (ended && count == std::ssize(tokens)) sampler_.sample(logits());
    return count;
}

void Session::decode(TokenId token)
{
    check_room(1);
    transformer_.decode(token, tokens_seen_, cache_, *step_);
    sampler_.accept(token);
    has_logits_ = false;
    last_token_ = token;
    ++tokens_seen_;
    ++steps_seen_;
}

Telemetry Session::telemetry() const
{
    const ModelConfig& c = model_->config();
    const auto slot_bytes = static_cast<uint64_t>(2 * kernels::row_bytes(*options_.kv_type, c.head_dim));
    return {.tokens_seen = tokens_seen_,
            .tokens_per_second = tokens_per_second_,
            .cache_bytes = cache_.allocated_bytes(),
            .scratch_bytes = transformer_.allocated_bytes() + model_->backend().scratch_bytes(),
            .full_cache_bytes = tokens_seen_ * static_cast<uint64_t>(c.layers * c.kv_heads) * slot_bytes,
            .slots_used = cache_.slots_used(),
            .slots_capacity = cache_.slots_capacity(),
            .evicted = evicted_};
}

std::unique_ptr<Session> Session::fork()
{
    if (tokens_seen_ > 0 || !pending_.empty()) logits();
    return std::unique_ptr<Session>(new Session(*this, cache_.clone()));
}

} // namespace palimpsest::engine
