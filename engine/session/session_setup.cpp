#include "engine/session/session_setup.h"

#include <algorithm>

#include "engine/policy/named/local_layers.h"
#include "kernels/base/error.h"

namespace palimpsest::engine {
namespace {

constexpr int32_t longest_chunk = 1 << 20;

// Floating-point operations of one token's forward pass, without attention and logits.
double operations(const ModelConfig& m)
{
    const double projections = 1.0 * m.dim * m.head_dim * (2.0 * m.heads + 2.0 * m.kv_heads);
    return 2.0 * m.layers * (projections + 3.0 * m.dim * m.ffn * std::max(m.experts.used, 1));
}

[[noreturn]] void refuse_setting(Setting setting, Text what, Text remedy)
{
    throw Error(ErrorKind::Usage, ErrorCode::ValueNotPossible, Text(setting), std::move(what), std::move(remedy));
}

// Whether the budget limits what is kept or, for a retrieval policy, what is read. The default budget depends on
// the answer. The answer is the same for every budget, so this asks with any.
bool is_limited(const PolicySpec& spec, const ModelConfig& model)
{
    constexpr int32_t any_budget = 1 << 20;
    const auto policy = make_policy({spec.name, {}}, {model.layers, model.kv_heads, any_budget});
    return policy->bounded() || policy->retrieval();
}

std::string schedule_of(const Policy& policy)
{
    const auto& parameters = policy.resolved().parameters;
    const auto found = parameters.find("schedule");
    return found == parameters.end() ? std::string() : found->second;
}

void check_options(const SessionOptions& options)
{
    if (options.chunk < 1)
        refuse_setting(Setting::Chunk, Text("a chunk of {0} tokens is not possible", options.chunk),
                       Text("give {0} or more", 1));
    if (options.chunk > longest_chunk)
        refuse_setting(Setting::Chunk, Text("a chunk of {0} tokens is too long", options.chunk),
                       Text("give at most {0}", longest_chunk));
    if (options.budget < 0)
        refuse_setting(Setting::Budget, Text("a budget of {0} tokens is not possible", options.budget),
                       Text("give {0} or more", 1));
    if (options.question_room < 0 || options.question_room > longest_chunk)
        refuse_setting(Setting::Question, Text("a question of {0} tokens is not possible", options.question_room),
                       Text("give at most {0}", longest_chunk));
}

kernels::DType sixteen_bits(const ModelConfig& model, const kernels::AtOnce& at_once)
{
    const bool bf16 = model.stored_type == kernels::DType::BF16 && at_once.bf16;
    return bf16 ? kernels::DType::BF16 : kernels::DType::F16;
}

[[noreturn]] void refuse_without_room(const SessionOptions& options, const ModelConfig& model)
{
    if (options.chunk >= model.context)
        throw Error(ErrorKind::Usage, ErrorCode::BudgetDoesNotFit, Text(Setting::Chunk),
                    Text("a chunk of {0} leaves no room in the {1} positions the model was trained on",
                         options.chunk, model.context),
                    Text("choose a smaller {0}", Setting::Chunk));
    throw Error(ErrorKind::Usage, ErrorCode::BudgetDoesNotFit, Text(Setting::Question),
                Text("a question of {0} tokens leaves no room beside a chunk of {1} in the {2} positions the model "
                     "was trained on",
                     options.question_room, options.chunk, model.context),
                Text("ask a shorter question, or choose a smaller {0}", Setting::Chunk));
}

SessionOptions resolve(SessionOptions options, const ModelConfig& model, const kernels::AtOnce& at_once,
                       bool limited)
{
    check_options(options);
    options.kv_type = kv_type_of(options, model, at_once);
    const int32_t beside = options.chunk + options.question_room;
    if (options.budget == 0)
        options.budget = limited ? std::min(default_budget, model.context - beside) : model.context;
    if (options.budget < 1) refuse_without_room(options, model);
    // Limits super-chunks so that a stop between them takes effect in time.
    if (options.rows_at_once == 0) options.rows_at_once = at_once.rows;
    if (!options.stops_within_chunk) {
        const auto rows = static_cast<int32_t>(std::min(at_once.operations / operations(model), 1e9));
        options.stops_within_chunk = rows < options.chunk;
        options.rows_at_once = std::min(options.rows_at_once, rows);
    }
    options.rows_at_once =
        *options.stops_within_chunk ? options.chunk : std::max(options.rows_at_once, options.chunk);
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

int64_t positions_of(const Policy& policy, const SessionOptions& options, const ModelConfig& model,
                     int64_t question_rows)
{
    // For an unbounded policy the budget is a capacity.
    const bool capacity = !policy.bounded() && options.budget != no_budget;
    const int64_t longest = std::max(longest_list(policy, model), capacity ? options.budget : 0);
    const int64_t rows = options.chunk + question_rows;
    const bool beside = policy.bounded() && options.positions == PositionMode::Contiguous;
    return beside ? longest + rows : std::max(longest, rows);
}

bool too_long(SessionOptions options, const ModelConfig& model, int32_t budget)
{
    options.budget = budget;
    try {
        return positions_of(*policy_of(options, model), options, model, options.question_room) > model.context;
    } catch (const Error&) {
        return false; // too small for its parameters
    }
}

// The largest budget up to options.budget that fits the context; some lists may be longer than the budget.
int32_t largest_fitting_budget(const SessionOptions& options, const ModelConfig& model)
{
    if (!too_long(options, model, options.budget)) return options.budget;
    int32_t fits = 1, exceeds = options.budget;
    while (exceeds - fits > 1) {
        const int32_t middle = fits + (exceeds - fits) / 2;
        (too_long(options, model, middle) ? exceeds : fits) = middle;
    }
    return fits;
}

} // namespace

std::unique_ptr<Policy> policy_of(const SessionOptions& options, const ModelConfig& model)
{
    std::vector<int32_t> windows;
    windows.reserve(static_cast<size_t>(model.layers));
    for (int32_t l = 0; l < model.layers; ++l)
        windows.push_back(model.plan(l).window);
    return make_policy(options.policy,
                       {.layers = model.layers,
                        .kv_heads = model.kv_heads,
                        .budget = options.budget,
                        .pins = options.pins,
                        .context = model.context,
                        .chunk = options.chunk + options.question_room},
                       windows, options.positions);
}

kernels::DType kv_type_of(const SessionOptions& options, const ModelConfig& model, const kernels::AtOnce& at_once)
{
    const kernels::DType type = options.kv_type.value_or(sixteen_bits(model, at_once));
    const int block = kernels::info(type).block;
    if (model.head_dim % block != 0)
        refuse_setting(
            Setting::KvType,
            Text("q8 needs heads of a multiple of {0} numbers, and this model's have {1}", block, model.head_dim),
            Text("set {0} to {1}", Setting::KvType, "f16"));
    return type;
}

SessionSetup set_up(const SessionOptions& given, const ModelConfig& model, const kernels::AtOnce& at_once)
{
    SessionOptions options = resolve(given, model, at_once, is_limited(given.policy, model));
    if (given.budget == 0) options.budget = largest_fitting_budget(options, model);
    auto policy = policy_of(options, model);
    check_positions(*policy, options, model, 0);
    return {std::move(options), std::move(policy)};
}

SessionSetup set_up(const SessionOptions& given, const ModelConfig& model, const kernels::AtOnce& at_once,
                    std::unique_ptr<Policy> policy)
{
    SessionOptions options = resolve(given, model, at_once, policy->bounded());
    check_positions(*policy, options, model, 0);
    return {std::move(options), std::move(policy)};
}

namespace {

struct PositionsNeeded {
    int64_t budget = 0, chunk = 0;
    int64_t question_rows = 0;
    std::string schedule; // every:N if lists grow by it; else empty
    int64_t positions = 0, context = 0;
};

Text sentence_of(const PositionsNeeded& n)
{
    if (n.question_rows > 0 && !n.schedule.empty())
        return Text("a budget of {0} and a chunk of {1} with {2} tokens of a question under schedule={3} need {4} "
                    "positions, but the model was trained on {5}",
                    n.budget, n.chunk, n.question_rows, n.schedule, n.positions, n.context);
    if (n.question_rows > 0)
        return Text("a budget of {0} and a chunk of {1} with {2} tokens of a question need {3} positions, but the "
                    "model was trained on {4}",
                    n.budget, n.chunk, n.question_rows, n.positions, n.context);
    if (!n.schedule.empty())
        return Text("a budget of {0} and a chunk of {1} under schedule={2} need {3} positions, but the model was "
                    "trained on {4}",
                    n.budget, n.chunk, n.schedule, n.positions, n.context);
    return Text("a budget of {0} and a chunk of {1} need {2} positions, but the model was trained on {3}", n.budget,
                n.chunk, n.positions, n.context);
}

Text remedy_of(const PositionsNeeded& n)
{
    if (n.question_rows > 0 && !n.schedule.empty())
        return Text("choose a smaller N in schedule=every:N, or a smaller {0} or {1}, or a shorter question",
                    Setting::Budget, Setting::Chunk);
    if (n.question_rows > 0)
        return Text("choose a smaller {0} or {1}, or a shorter question", Setting::Budget, Setting::Chunk);
    if (!n.schedule.empty())
        return Text("choose a smaller N in schedule=every:N, or a smaller {0} or {1}", Setting::Budget,
                    Setting::Chunk);
    return Text("choose a smaller {0} or {1}", Setting::Budget, Setting::Chunk);
}

} // namespace

void check_positions(const Policy& policy, const SessionOptions& options, const ModelConfig& model,
                     int64_t question_rows)
{
    const int64_t positions = positions_of(policy, options, model, question_rows);
    if (positions <= model.context) return;
    const std::string schedule = schedule_of(policy);
    const bool waits = schedule.starts_with("every:") && schedule != "every:1"; // lists grow by N - 1
    const PositionsNeeded needed{.budget = options.budget,
                                 .chunk = options.chunk,
                                 .question_rows = question_rows,
                                 .schedule = waits ? schedule : std::string(),
                                 .positions = positions,
                                 .context = model.context};
    throw Error(ErrorKind::Usage, ErrorCode::BudgetDoesNotFit,
                waits ? Text("policy '{0}'", policy.resolved().name) : Text(Setting::Budget), sentence_of(needed),
                remedy_of(needed));
}

Unbounded why_unbounded(const Policy& policy, const SessionOptions& options)
{
    if (policy.waits_for_end())
        return {Text("with schedule=once it evicts nothing before the end of the text"),
                Text("leave schedule=once out")};
    if (schedule_of(policy) == "once")
        return {Text("with schedule=once it evicts nothing after the first text"), Text("leave schedule=once out")};
    if (options.budget == no_budget && policy.resolved().name != "full")
        return {Text("without a budget its lists are not cut"), Text("set {0} to a number", Setting::Budget)};
    return {Text("it keeps every token"), Text("use a policy with a budget, such as {0}", "treekv")};
}

std::vector<bool> layers_with_pins(const Policy& policy, int32_t layers)
{
    std::vector<bool> with_pins;
    with_pins.reserve(static_cast<size_t>(layers));
    for (int32_t l = 0; l < layers; ++l)
        with_pins.push_back(policy.holds_pins(l));
    return with_pins;
}

CacheShape cache_shape(const Model& model, const SessionOptions& options, const Policy& policy,
                       int32_t question_rows)
{
    const ModelConfig& c = model.config();
    const SignalNeeds needs = policy.signals();
    CacheShape shape{.layers = c.layers,
                     .heads = model.head_shape(),
                     .type = *options.kv_type,
                     .wide = sixteen_bits(c, model.backend().at_once()),
                     .staged_rows = options.chunk + question_rows,
                     .stage_every_layer = policy.couples_layers() || *options.stops_within_chunk,
                     .with_signals = needs.any(),
                     .moments_each = needs.head_moments ? 2 * model.head_shape().group() : 0,
                     .list_budget = {},
                     .total_slots = policy.total_budget(),
                     .resident = model.backend().selects() && policy.plans(),
                     .rows_at_once = options.rows_at_once};
    for (int32_t l = 0; l < c.layers; ++l)
        for (int32_t h = 0; h < c.kv_heads; ++h)
            shape.list_budget.push_back(policy.list_budget(l, h));
    return shape;
}

CacheShape with_room_for(CacheShape shape, std::span<const int32_t> list_lengths)
{
    int64_t held = 0;
    for (size_t i = 0; i < list_lengths.size(); ++i) {
        shape.list_budget[i] = std::max(shape.list_budget[i], list_lengths[i]);
        held += list_lengths[i];
    }
    shape.total_slots = std::max(shape.total_slots, held);
    if (shape.resident) shape.total_slots = slots_of_limits(shape); // device-resident lists cannot share slots
    return shape;
}

// Depends on the options only, not on lists that exceed their limits for a time: otherwise a resumed session would
// compute something else.
int64_t position_reach(const ModelConfig& model, const SessionOptions& options, const Policy& policy)
{
    if (options.positions == PositionMode::Original) return model.context;
    if (options.reach) return *options.reach;
    return std::min<int64_t>(model.context, int64_t{longest_list(policy, model)} + options.chunk);
}

TransformerShape transformer_shape(const ModelConfig& model, const CacheShape& cache, const SessionOptions& options,
                                   const Policy& policy, int32_t question_rows)
{
    std::vector<bool> layers_without_signals;
    layers_without_signals.reserve(static_cast<size_t>(model.layers));
    for (int32_t l = 0; l < model.layers; ++l)
        layers_without_signals.push_back(!policy.watches(l));
    const int32_t chunks = options.rows_at_once / options.chunk;
    const int32_t longest = *std::max_element(cache.list_budget.begin(), cache.list_budget.end());
    return {.positions = options.positions,
            .max_rows = options.rows_at_once + chunks * question_rows,
            .max_ranks = longest + cache.staged_rows,
            .resident = cache.resident,
            .max_dropped_per_token = policy.max_evicted_per_token(),
            .layers_first = cache.stage_every_layer,
            .couples_layers = policy.couples_layers(),
            .signals = policy.signals(),
            .retrieval = policy.retrieval(),
            .layers_without_signals = std::move(layers_without_signals),
            .reach = position_reach(model, options, policy)};
}

namespace {

// The signals that a policy requests from attention; a non-null pointer requests an output.
kernels::SignalRequest outputs_of(const SignalNeeds& needs, int64_t ranks)
{
    static float there = 0;
    if (!needs.any()) return {};
    kernels::SignalRequest wanted{.rows = needs.window_of(static_cast<size_t>(ranks)),
                                  .outside_newest = needs.outside_newest,
                                  .row_statistic = needs.row_statistic};
    needed_columns(needs, wanted) = &there;
    if (needs.head_moments) wanted.head_sums = wanted.head_squares = &there;
    if (needs.entropies) wanted.entropies = &there;
    return wanted;
}

kernels::PageRetrieval retrieval_of(const std::optional<Retrieval>& how)
{
    static float there = 0;
    if (!how) return {};
    return {.pages = {.bounds = &there, .page_stride = 0, .page = how->page},
            .tokens = how->tokens,
            .max_pages = how->max_pages(),
            .top_p = how->top_p};
}

} // namespace

kernels::WorkBounds work_bounds(const Model& model, const CacheShape& cache, const TransformerShape& transformer,
                                std::span<const kernels::HostMatrix> weights)
{
    return {.heads = cache.heads,
            .pool = cache.type,
            .staging = kernels::staging_type(cache.type, cache.wide),
            .rows = transformer.max_rows,
            .vocabulary = model.config().vocabulary,
            .width = model.config().dim,
            .hidden = model.config().ffn,
            .chunk_rows = cache.staged_rows,
            .ranks = transformer.max_ranks,
            .token_ranks = transformer.max_ranks + 1, // the most ranks a recorded step may have
            .signals = outputs_of(transformer.signals, transformer.max_ranks),
            .retrieval = retrieval_of(transformer.retrieval),
            .evicts = cache.resident,
            .finishes = model.config().post_norms || model.config().residual_factor != 1.0f,
            .weights = weights};
}

} // namespace palimpsest::engine
