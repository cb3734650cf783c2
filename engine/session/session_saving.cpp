// Saving a session as a state, and restoring one.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>

#include "engine/session/arithmetic.h"
#include "engine/session/session.h"
#include "engine/session/session_eviction.h"
#include "kernels/base/error.h"
#include "kernels/base/printable.h"

namespace palimpsest::engine {
namespace {

[[noreturn]] void refuse(Text what, Text remedy = Text("read the document again"))
{
    throw Error(ErrorKind::Failed, ErrorCode::IncompatibleSnapshot, Text("saved session"), std::move(what),
                std::move(remedy));
}

bool all_finite(std::span<const double> values)
{
    return std::all_of(values.begin(), values.end(), [](double x) { return std::isfinite(x); });
}

bool all_scales_finite(kernels::DType type, std::span<const std::byte> rows)
{
    if (type != kernels::DType::Q8_0) return true;
    const auto block = static_cast<size_t>(kernels::info(type).bytes);
    for (size_t at = 0; at + block <= rows.size(); at += block) {
        uint16_t scale = 0;
        std::memcpy(&scale, rows.data() + at, sizeof scale);
        if (!std::isfinite(kernels::f16_to_f32(scale))) return false;
    }
    return true;
}

// docs/validation.md, K3 and K7: every size equals that of the live session, every index is inside the stream.
void check_list(const ListAtRest& list, const KvCache& cache, int32_t layer, int32_t head, uint64_t tokens_seen)
{
    const CacheShape& shape = cache.shape();
    const auto n = list.tokens.size();
    const auto bytes = n * static_cast<size_t>(kernels::row_bytes(shape.type, shape.heads.head_dim));
    const size_t accumulated = shape.with_signals ? n : 0;
    const bool sizes = n <= static_cast<size_t>(cache.capacity(layer, head)) && list.keys.size() == bytes &&
                       list.values.size() == bytes && list.tokens.sum.size() == accumulated &&
                       list.tokens.count.size() == accumulated &&
                       list.tokens.moments.size() == n * static_cast<size_t>(shape.moments_each);
    const auto& stream = list.tokens.stream;
    const bool ascending = std::adjacent_find(stream.begin(), stream.end(), std::greater_equal<>()) == stream.end();
    const bool scales = all_scales_finite(shape.type, list.keys) && all_scales_finite(shape.type, list.values);
    if (!sizes || !scales || !ascending || (n > 0 && stream.back() >= tokens_seen) ||
        !all_finite(list.tokens.sum) || !all_finite(list.tokens.count) || !all_finite(list.tokens.moments))
        refuse(Text("the tokens of layer {0}, head {1} do not fit it", layer, head));
}

// If limits differ between lists, or lists share slots, the limits depend on the pins: after set_pins a list may
// exceed its own limit until the next chunk, though never the available positions.
bool may_exceed_limits(const CacheShape& shape)
{
    const auto& limits = shape.list_budget;
    const int64_t sum = std::accumulate(limits.begin(), limits.end(), int64_t{0});
    return shape.total_slots < sum ||
           std::adjacent_find(limits.begin(), limits.end(), std::not_equal_to<>()) != limits.end();
}

void check_lengths(std::span<const int32_t> lengths, const Policy& policy, const CacheShape& shape)
{
    const int64_t held = std::accumulate(lengths.begin(), lengths.end(), int64_t{0});
    if (held > shape.total_slots) refuse(Text("it holds more tokens than its budget"));
    const auto heads = static_cast<size_t>(shape.heads.kv_heads);
    for (size_t i = 0; i < lengths.size(); ++i)
        if (policy.heads_alike() && lengths[i] != lengths[i - i % heads])
            refuse(Text("the lists of layer {0} differ in length", i / heads));
}

// Refuses lists of different tokens for a policy that averages scores over heads, rank by rank: it would mix the
// scores of different tokens, and read beyond the end of a list that holds fewer pinned tokens.
void check_same_tokens(const SessionState& state, const Policy& policy, const CacheShape& shape)
{
    if (!policy.heads_hold_same()) return;
    const auto heads = static_cast<size_t>(shape.heads.kv_heads);
    for (size_t i = 0; i < state.lists.size(); ++i)
        if (state.lists[i].tokens.stream != state.lists[i - i % heads].tokens.stream)
            refuse(Text("the lists of layer {0} hold different tokens", i / heads));
}

// Turns a usage error into a refused state: the stored options may be impossible with this model.
template<class Make>
auto with_settings(Make&& make)
try {
    return make();
} catch (const Error& error) {
    if (error.kind() != ErrorKind::Usage) throw;
    refuse(Text("its settings are not possible here: {0}", error.text()));
}

// A state has logits and a last token if and only if tokens were fed; their number fits into a stream index.
void check_stream(const SessionState& state, const ModelConfig& model)
{
    const bool fed = state.tokens_seen > 0;
    const auto finite = [](float x) { return std::isfinite(x); };
    const auto all_known = [&](const std::vector<TokenId>& ids) {
        return std::all_of(ids.begin(), ids.end(), [&](TokenId id) { return id >= 0 && id < model.vocabulary; });
    };
    const bool token_fits =
        fed ? state.last_token >= 0 && state.last_token < model.vocabulary : state.last_token == -1;
    if (state.lists.size() != static_cast<size_t>(model.layers * model.kv_heads) ||
        state.logits.size() != (fed ? static_cast<size_t>(model.vocabulary) : 0) || !token_fits ||
        !all_known(state.integrity_check.ids) ||
        state.integrity_check.ids.size() != state.integrity_check.logits.size() ||
        !std::all_of(state.logits.begin(), state.logits.end(), finite) || state.tokens_seen > UINT32_MAX ||
        state.steps_seen > state.tokens_seen || (fed && state.steps_seen == 0) ||
        std::ssize(state.pending) >= state.chunk || !all_known(state.pending) || !all_known(state.question_ids))
        refuse(Text("its parts do not fit the model"));
}

} // namespace

uint64_t Session::largest_lists(const Model& model, const SessionState& state)
{
    const ModelConfig& c = model.config();
    const SessionSetup setup =
        with_settings([&] { return set_up(options_of(state), c, model.backend().at_once()); });
    const auto slots = static_cast<uint64_t>(setup.policy->total_budget());
    const uint64_t moments = setup.policy->signals().head_moments ? uint64_t{2} * model.head_shape().group() : 0;
    const auto token_bytes = sizeof(uint32_t) + (2 + moments) * sizeof(double) +
                             static_cast<uint64_t>(2 * kernels::row_bytes(state.kv_type, c.head_dim));
    return slots * token_bytes + static_cast<uint64_t>(c.vocabulary) * sizeof(float);
}

namespace {

// Adds the fed token to no list, so that the next token overwrites its row.
class ForgetToken final : public LayerEviction {
public:
    void evict(std::span<const AttendedLayer>, int32_t, kernels::Phase) override {}
};

} // namespace

// The parts of a session that a state consists of.
class Session::Saving {
public:
    explicit Saving(Session& session) : s_(session) {}

    SessionState state(const RowRounding& round);
    static std::unique_ptr<Session> restore(std::shared_ptr<const Model> model, const SessionState& state,
                                            SessionSetup setup);
    static std::unique_ptr<Session> adopt(std::shared_ptr<const Model> model, SessionState state,
                                          SessionSetup setup);

private:
    // Logits after the last token is fed once more, [vocabulary]; empty if nothing was fed or there is no room for
    // one more token. The session stays as it was.
    std::vector<float> repeated_logits();
    IntegrityCheck integrity_check();
    void check_integrity(const SessionState& state); // Throws Error (Failed) if it predicts something else
    // Keys and values of every list, [layers, kv_heads].
    struct Rows {
        std::vector<std::byte> keys, values;
    };
    // As integrity_check, but with the rows of `state` instead of the session's own.
    IntegrityCheck integrity_check_with(const SessionState& state, std::span<const Rows> own);
    void overwrite_rows(size_t list, std::span<const std::byte> keys, std::span<const std::byte> values);
    void round_lists(SessionState& state, const RowRounding& round);
    void restore_lists(const SessionState& state);
    void restore_scalars(const SessionState& state); // everything but the lists

    Session& s_;
};

std::vector<float> Session::Saving::repeated_logits()
{
    std::vector<float> logits;
    if (s_.tokens_seen_ == 0 || !s_.has_room(1, 0)) return logits;
    s_.compute_logits(); // the decode below overwrites the activations they are computed from
    s_.sync();
    ForgetToken forget_token;
    s_.transformer_.decode(s_.last_token_, s_.tokens_seen_, s_.cache_, forget_token);
    s_.transformer_.last_logits(logits);
    return logits;
}

namespace {

constexpr size_t checked_logits = 8;

} // namespace

IntegrityCheck Session::Saving::integrity_check()
{
    const std::vector<float> logits = repeated_logits();
    IntegrityCheck result;
    result.ids.resize(std::min(checked_logits, logits.size()));
    std::vector<TokenId> ids(logits.size());
    std::iota(ids.begin(), ids.end(), 0);
    const auto at = [&](TokenId id) {
        const float logit = logits[static_cast<size_t>(id)];
        return std::isnan(logit) ? -INFINITY : logit; // NaN would break the ordering
    };
    std::partial_sort_copy(ids.begin(), ids.end(), result.ids.begin(), result.ids.end(),
                           [&](TokenId a, TokenId b) { return at(a) != at(b) ? at(a) > at(b) : a < b; });
    for (const TokenId id : result.ids)
        result.logits.push_back(at(id));
    return result;
}

void Session::Saving::overwrite_rows(size_t list, std::span<const std::byte> keys,
                                     std::span<const std::byte> values)
{
    const auto heads = static_cast<size_t>(s_.cache_.shape().heads.kv_heads);
    s_.cache_.overwrite(static_cast<int32_t>(list / heads), static_cast<int32_t>(list % heads), keys, values);
}

IntegrityCheck Session::Saving::integrity_check_with(const SessionState& state, std::span<const Rows> own)
{
    const auto bound_pages = [&] {
        if (s_.policy_->retrieval()) s_.transformer_.bound_pages(s_.cache_);
    };
    const auto take_back = [&] {
        for (size_t i = 0; i < own.size(); ++i)
            overwrite_rows(i, own[i].keys, own[i].values);
        bound_pages();
    };
    s_.cache_.defragment();
    IntegrityCheck result;
    try {
        for (size_t i = 0; i < state.lists.size(); ++i)
            overwrite_rows(i, state.lists[i].keys, state.lists[i].values);
        bound_pages();
        result = integrity_check();
    } catch (...) {
        take_back();
        throw;
    }
    take_back();
    return result;
}

void Session::Saving::round_lists(SessionState& state, const RowRounding& round)
{
    std::vector<Rows> own;
    for (ListAtRest& list : state.lists) {
        own.push_back({list.keys, list.values});
        round(list.keys);
        round(list.values);
    }
    state.integrity_check = integrity_check_with(state, own);
}

SessionState Session::Saving::state(const RowRounding& round)
{
    if (s_.tokens_seen_ > 0) s_.compute_logits();
    s_.sync();
    SessionState state{.model_fingerprint = s_.model_->fingerprint(),
                       .arithmetic = name_of(arithmetic_of(*s_.model_)),
                       .policy = s_.options_.policy,
                       .given = s_.given_,
                       .pins = s_.options_.pins.ranges(),
                       .question_ids = s_.question_ids_,
                       .question_room = s_.options_.question_room,
                       .budget = s_.options_.budget,
                       .chunk = s_.options_.chunk,
                       .positions = s_.options_.positions,
                       .kv_type = *s_.options_.kv_type,
                       .tokens_seen = s_.tokens_seen_,
                       .steps_seen = s_.steps_seen_,
                       .evicted = s_.evicted_,
                       .last_token = s_.last_token_,
                       .pending = s_.pending_,
                       .logits = s_.logits_,
                       .integrity_check = round ? IntegrityCheck() : integrity_check(),
                       .policy_state = s_.policy_->state(),
                       .sampler_options = s_.options_.sampler,
                       .sampler_state = s_.sampler_.state(),
                       .lists = {}};
    for (int32_t l = 0; l < s_.cache_.shape().layers; ++l)
        for (int32_t h = 0; h < s_.cache_.shape().heads.kv_heads; ++h)
            state.lists.emplace_back().tokens = s_.lists().tokens(l, h);
    std::vector<KvCache::Entries> entries;
    for (ListAtRest& list : state.lists)
        entries.push_back({&list.keys, &list.values});
    s_.cache_.read_all(entries);
    if (round) round_lists(state, round);
    return state;
}

SessionState Session::state(const RowRounding& round)
{
    return Saving(*this).state(round);
}

namespace {

std::vector<int32_t> lengths_of(const SessionState& state)
{
    std::vector<int32_t> lengths;
    for (const ListAtRest& list : state.lists)
        lengths.push_back(static_cast<int32_t>(std::min<size_t>(list.tokens.size(), INT32_MAX)));
    return lengths;
}

// The shape of the cache that a state is restored into, computed before allocation because two caches may not fit
// into memory. Throws as restore does.
CacheShape shape_of(const SessionState& state, const Model& model, const SessionSetup& setup)
{
    const auto question_rows = static_cast<int32_t>(state.question_ids.size());
    const Policy& policy = *setup.policy;
    check_stream(state, model.config());
    with_settings([&] { check_positions(policy, setup.options, model.config(), question_rows); });
    const CacheShape shape = cache_shape(model, setup.options, policy, question_rows);
    const std::vector<int32_t> lengths = lengths_of(state);
    check_lengths(lengths, policy, shape);
    check_same_tokens(state, policy, shape);
    const bool beside = policy.bounded() && setup.options.positions == PositionMode::Contiguous;
    const int64_t positions = model.config().context - (beside ? shape.staged_rows : 0);
    const bool is_possible = *std::max_element(lengths.begin(), lengths.end()) <= positions;
    return may_exceed_limits(shape) && is_possible ? with_room_for(shape, lengths) : shape;
}

} // namespace

void Session::Saving::restore_lists(const SessionState& state)
{
    for (int32_t l = 0; l < s_.cache_.shape().layers; ++l)
        for (int32_t h = 0; h < s_.cache_.shape().heads.kv_heads; ++h) {
            const ListAtRest& list = state.lists[static_cast<size_t>(l * s_.cache_.shape().heads.kv_heads + h)];
            check_list(list, s_.cache_, l, h, state.tokens_seen);
            s_.cache_.write(l, h, list.keys, list.values);
            s_.lists().write(l, h, list.tokens);
        }
    s_.lists().pin(s_.options_.pins, layers_with_pins(*s_.policy_, s_.cache_.shape().layers));
    if (s_.policy_->retrieval()) s_.transformer_.bound_pages(s_.cache_);
}

namespace {

Text setting_of(const Arithmetic& saved, const Arithmetic& here)
{
    const Setting simd = Setting::Simd, compute = Setting::Compute;
    if (saved.is_on_gpu() != here.is_on_gpu())
        return Text("set {0} to {1}, or read the document again", Setting::Device,
                    saved.is_on_gpu() ? "cuda" : "cpu");
    if (saved.in_fixed_point == here.in_fixed_point)
        return Text("set {0} to {1}, or read the document again", simd, printable(saved.target));
    if (saved.in_fixed_point)
        return Text("set {0} to {1} and {2} to {3} on a processor with AVX-512 VNNI, or read the document again",
                    simd, printable(saved.target), compute, "auto");
    return Text("set {0} to {1} and {2} to {3}, or read the document again", simd, printable(saved.target), compute,
                "f32");
}

void check_fingerprint(const SessionState& state, const Model& model)
{
    if (state.model_fingerprint != model.fingerprint())
        refuse(Text("it was saved with another model"), Text("load that model or read the document again"));
}

} // namespace

void Session::Saving::check_integrity(const SessionState& state)
{
    const IntegrityCheck& saved = state.integrity_check;
    const Arithmetic here = arithmetic_of(*s_.model_), there = arithmetic_named(state.arithmetic);
    if (there == here) {
        if (integrity_check() == saved) return;
        throw Error(ErrorKind::Failed, ErrorCode::DamagedSnapshot, Text("saved session"),
                    Text("it predicts something else than when it was saved"), Text("read the document again"));
    }
    const std::vector<float> logits = repeated_logits();
    if (logits.empty()) return;
    std::vector<float> again;
    for (const TokenId id : saved.ids)
        again.push_back(logits[static_cast<size_t>(id)]);
    if (saved.ids.size() != std::min(checked_logits, logits.size()) ||
        !may_be_same_logits(there, saved.logits, here, again))
        refuse(Text("it predicts something else than when it was saved: it was computed with {0}, this process "
                    "computes with {1}",
                    printable(state.arithmetic), name_of(here)),
               setting_of(there, here));
}

std::unique_ptr<Session> Session::Saving::restore(std::shared_ptr<const Model> model, const SessionState& state,
                                                  SessionSetup setup)
{
    const CacheShape shape = shape_of(state, *model, setup);
    auto session = std::unique_ptr<Session>(new Session(std::move(model), setup, shape, state.question_ids));
    session->given_ = state.given;
    session->given_.stored = true;
    Saving saving(*session);
    saving.restore_lists(state);
    session->policy_->restore(state.policy_state);
    saving.restore_scalars(state);
    session->pending_ = state.pending;
    saving.check_integrity(state);
    return session;
}

std::unique_ptr<Session> Session::restore(std::shared_ptr<const Model> model, const SessionState& state)
{
    check_fingerprint(state, *model);
    auto setup =
        with_settings([&] { return set_up(options_of(state), model->config(), model->backend().at_once()); });
    return Saving::restore(std::move(model), state, std::move(setup));
}

std::unique_ptr<Session> Session::restore(std::shared_ptr<const Model> model, const SessionState& state,
                                          std::unique_ptr<Policy> policy)
{
    check_fingerprint(state, *model);
    auto setup = with_settings(
        [&] { return set_up(options_of(state), model->config(), model->backend().at_once(), std::move(policy)); });
    return Saving::restore(std::move(model), state, std::move(setup));
}

namespace {

SessionOptions as_stored(const SessionState& state, const SessionOptions& options)
{
    SessionOptions with = options;
    with.positions = state.positions;
    with.kv_type = state.kv_type;
    return with;
}

// Signals that the previous policy did not accumulate start at zero.
void fit_signals(TokenList& tokens, const CacheShape& shape)
{
    const size_t n = tokens.size(), accumulated = shape.with_signals ? n : 0;
    tokens.sum.resize(accumulated);
    tokens.count.resize(accumulated);
    const size_t moments = n * static_cast<size_t>(shape.moments_each);
    if (tokens.moments.size() != moments) tokens.moments.assign(moments, 0);
}

void check_room_to_go_on(std::span<const int32_t> lengths, const SessionOptions& options, const ModelConfig& model)
{
    const int64_t longest = lengths.empty() ? 0 : *std::max_element(lengths.begin(), lengths.end());
    if (options.positions == PositionMode::Original || longest + options.chunk <= model.context) return;
    throw Error(
        ErrorKind::Usage, ErrorCode::BudgetDoesNotFit, Text("chunk of {0}", options.chunk),
        Text("with the {0} tokens that lists hold it exceeds the model's context of {1}", longest, model.context),
        Text("use a smaller chunk, or read the document again with a smaller budget"));
}

} // namespace

std::unique_ptr<Session> Session::adopt(std::shared_ptr<const Model> model, const SessionState& state,
                                        const SessionOptions& options)
{
    check_fingerprint(state, *model);
    auto setup = set_up(as_stored(state, options), model->config(), model->backend().at_once());
    return Saving::adopt(std::move(model), SessionState(state), std::move(setup));
}

std::unique_ptr<Session> Session::adopt(std::shared_ptr<const Model> model, const SessionState& state,
                                        const SessionOptions& options, std::unique_ptr<Policy> policy)
{
    check_fingerprint(state, *model);
    auto setup = set_up(as_stored(state, options), model->config(), model->backend().at_once(), std::move(policy));
    return Saving::adopt(std::move(model), SessionState(state), std::move(setup));
}

std::unique_ptr<Session> Session::Saving::adopt(std::shared_ptr<const Model> model, SessionState state,
                                                SessionSetup setup)
{
    const std::vector<TokenId> waiting = std::exchange(state.pending, {});
    check_stream(state, model->config());
    check_room_to_go_on(lengths_of(state), setup.options, model->config());
    const CacheShape shape = with_room_for(cache_shape(*model, setup.options, *setup.policy, 0), lengths_of(state));
    for (ListAtRest& list : state.lists)
        fit_signals(list.tokens, shape);
    const std::string policy = setup.policy->resolved().name;
    const auto fit = [&](auto&& check) {
        try {
            check();
        } catch (const Error& error) {
            throw Error(ErrorKind::Usage, ErrorCode::PolicyCannotContinue, Text("policy '{0}'", policy),
                        Text("it cannot go on from here: {0}", error.text()),
                        Text("read the document again with this policy"));
        }
    };
    fit([&] {
        check_lengths(lengths_of(state), *setup.policy, shape);
        check_same_tokens(state, *setup.policy, shape);
    });
    auto session = std::unique_ptr<Session>(new Session(std::move(model), setup, shape, {}));
    Saving saving(*session);
    fit([&] { saving.restore_lists(state); });
    saving.restore_scalars(state);
    session->feed(waiting);
    return session;
}

void Session::Saving::restore_scalars(const SessionState& state)
{
    s_.sampler_.restore(state.sampler_state);
    s_.logits_ = state.logits;
    s_.has_logits_ = !state.logits.empty();
    s_.last_token_ = state.last_token;
    s_.tokens_seen_ = state.tokens_seen;
    s_.steps_seen_ = state.steps_seen;
    s_.evicted_ = state.evicted;
}

} // namespace palimpsest::engine
