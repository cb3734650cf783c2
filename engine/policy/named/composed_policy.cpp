#include "engine/policy/named/composed_policy.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <numeric>
#include <string>

#include "engine/policy/signals/pooling.h"
#include "kernels/base/error.h"

namespace palimpsest::engine {

namespace {

constexpr uint32_t state_version = 1;

// nullopt for scores that backends do not compute.
std::optional<kernels::ScoreRule> score_rule(ScoreKind kind)
{
    switch (kind) {
    case ScoreKind::None:
        return kernels::ScoreRule::None;
    case ScoreKind::Mean:
        return kernels::ScoreRule::Mean;
    case ScoreKind::Total:
        return kernels::ScoreRule::Total;
    case ScoreKind::FewLow:
    case ScoreKind::SmallNorm:
    case ScoreKind::Dissimilar:
        return kernels::ScoreRule::Negative;
    case ScoreKind::MeanVariance:
        break;
    }
    return std::nullopt;
}

kernels::PoolRule pool_rule(Pooling pooling)
{
    switch (pooling) {
    case Pooling::Average:
        return kernels::PoolRule::Average;
    case Pooling::Max:
        return kernels::PoolRule::Max;
    case Pooling::None:
        break;
    }
    return kernels::PoolRule::None;
}

} // namespace

ComposedPolicy::ComposedPolicy(PolicyParts parts, EvictionSchedule schedule, PolicySpec resolved,
                               const PolicyContext& context)
    : parts_(std::move(parts)), schedule_(schedule), resolved_(std::move(resolved)), context_(context)
{
    cuts_.resize(couples_layers() ? static_cast<size_t>(context_.layers) : 1);
    slots_.resize(static_cast<size_t>(context_.kv_heads));
}

SignalNeeds ComposedPolicy::signals() const
{
    SignalNeeds needs = parts_.signal.needs();
    if (parts_.budget && needs.any()) parts_.budget->add_needs(needs);
    return needs;
}

bool ComposedPolicy::bounded() const
{
    return parts_.budget && parts_.capped && !schedule_.once;
}

bool ComposedPolicy::couples_layers() const
{
    if (!parts_.budget) return false;
    // With schedule=every:N, one list that is too long makes all lists evict, so all layers must be examined
    // together, unless all lists always have equal lengths.
    return parts_.budget->couples_layers() || parts_.selection->couples_layers() ||
           (schedule_.excess > 1 && !parts_.budget->is_uniform());
}

bool ComposedPolicy::heads_alike() const
{
    return !parts_.budget || (parts_.budget->heads_alike() && parts_.selection->heads_alike());
}

int32_t ComposedPolicy::list_budget(int32_t layer, int32_t) const
{
    if (!bounded()) {
        const bool by_context = parts_.budget || parts_.retrieval || context_.budget == no_budget;
        return by_context ? context_.context : context_.budget;
    }
    const int64_t size = int64_t{parts_.budget->most(layer)} + parts_.ends.sinks + parts_.ends.recent +
                         static_cast<int64_t>(context_.pins.tokens()) + schedule_.excess - 1;
    return static_cast<int32_t>(std::min<int64_t>(size, std::numeric_limits<int32_t>::max()));
}

int64_t ComposedPolicy::total_budget() const
{
    const int64_t lists = int64_t{context_.layers} * context_.kv_heads;
    if (!bounded()) return lists * list_budget(0, 0);
    const int64_t beside_slots = int64_t{parts_.ends.sinks} + parts_.ends.recent +
                                 static_cast<int64_t>(context_.pins.tokens()) + schedule_.excess - 1;
    return parts_.budget->total() + lists * beside_slots;
}

bool ComposedPolicy::evicts_now() const
{
    return parts_.budget && (!schedule_.once || ending_);
}

void ComposedPolicy::observe(int32_t layer, std::span<const ListState> heads, const LayerObservation& seen)
{
    if (!couples_layers()) return;
    LayerCuts& cuts = cuts_[static_cast<size_t>(layer)];
    view(heads, cuts);
    parts_.budget->observe(layer, cuts.lists, seen);
}

void ComposedPolicy::view(std::span<const ListState> heads, LayerCuts& cuts) const
{
    cuts.lists.clear();
    cuts.ranks.resize(heads.size());
    cuts.has_slots = false;
    for (size_t h = 0; h < heads.size(); ++h) {
        ListView view{.list = heads[h], .ranks = {}, .size = static_cast<uint32_t>(heads[h].size())};
        if (!context_.pins.empty()) {
            context_.pins.unpinned(heads[h].stream, cuts.ranks[h]);
            const auto held = static_cast<uint32_t>(heads[h].size() - cuts.ranks[h].size());
            view.ranks = cuts.ranks[h];
            view.size = static_cast<uint32_t>(cuts.ranks[h].size());
            view.missing_pins = static_cast<uint32_t>(context_.pins.tokens()) - held;
        }
        cuts.lists.push_back(cut_of(view));
    }
}

// For plan(): the lists have sizes, but no signals.
void ComposedPolicy::view(std::span<const uint32_t> sizes, std::span<const uint32_t> pinned, LayerCuts& cuts) const
{
    cuts.lists.clear();
    cuts.has_slots = false;
    const auto pins = static_cast<uint32_t>(context_.pins.tokens());
    for (size_t h = 0; h < sizes.size(); ++h) {
        const uint32_t held = pins > 0 ? pinned[h] : 0;
        cuts.lists.push_back(cut_of({.list = {}, .size = sizes[h] - held, .missing_pins = pins - held}));
    }
}

ListCut ComposedPolicy::cut_of(const ListView& view) const
{
    return {.view = view, .ends = parts_.ends, .score = {.signal = parts_.signal, .view = view}};
}

// Replaces each head's scores by their mean over heads, rank by rank. REQUIRES: lists hold the same tokens.
void ComposedPolicy::average(std::vector<std::vector<double>>& scores)
{
    auto& mean = scores.front();
    for (size_t h = 1; h < scores.size(); ++h)
        std::transform(mean.begin(), mean.end(), scores[h].begin(), mean.begin(), std::plus());
    for (double& score : mean)
        score /= static_cast<double>(scores.size());
    std::fill(scores.begin() + 1, scores.end(), mean);
}

// Pools and averages the scores of a layer. Pooled scores end where the recent tokens begin; others include the
// newest token.
void ComposedPolicy::shape(LayerCuts& cuts)
{
    const Shaping& shaping = parts_.shaping;
    const bool pooled = shaping.pooling != Pooling::None;
    cuts.shaped.resize(cuts.lists.size());
    for (size_t h = 0; h < cuts.lists.size(); ++h) {
        const ListCut& list = cuts.lists[h];
        auto& shaped = cuts.shaped[h];
        shaped.resize(pooled ? list.end() : list.size());
        raw_.resize(shaped.size());
        list.score.read(pooled ? raw_ : shaped);
        if (pooled) pool(shaping.pooling, shaping.kernel, raw_, shaped);
    }
    if (shaping.layer_mean) average(cuts.shaped);
    for (size_t h = 0; h < cuts.lists.size(); ++h) {
        for (double& score : cuts.shaped[h])
            score = ordered(score);
        cuts.lists[h].shaped = cuts.shaped[h];
        cuts.lists[h].pooled = pooled;
    }
}

void ComposedPolicy::give_slots(int32_t layer, LayerCuts& cuts)
{
    parts_.budget->slots(layer, cuts.lists, slots_);
    for (size_t h = 0; h < cuts.lists.size(); ++h) {
        ListCut& list = cuts.lists[h];
        list.slots = static_cast<uint32_t>(slots_[h]);
        list.budget =
            list.slots + static_cast<uint32_t>(parts_.ends.sinks + parts_.ends.recent) + list.view.missing_pins;
    }
    cuts.has_slots = true;
}

bool ComposedPolicy::exceeds(const LayerCuts& cuts) const
{
    return std::any_of(cuts.lists.begin(), cuts.lists.end(), [&](const ListCut& list) {
        return list.excess() >= static_cast<uint32_t>(ending_ ? 1 : schedule_.excess);
    });
}

// Computes the slots of all layers, and whether an eviction is due.
void ComposedPolicy::give_all_slots()
{
    due_ = false;
    for (int32_t layer = 0; layer < context_.layers; ++layer)
        due_ = is_due(layer, cuts_[static_cast<size_t>(layer)]) || due_;
}

// Computes the slots of one layer's lists; true if a list exceeds its budget by the schedule's excess.
bool ComposedPolicy::is_due(int32_t layer, LayerCuts& cuts)
{
    if (parts_.budget->reads_shaped()) shape(cuts);
    give_slots(layer, cuts);
    return exceeds(cuts);
}

// Cheap early test: true if no list of the layer is long enough for an eviction under a constant budget.
bool ComposedPolicy::may_skip(int32_t layer, size_t longest) const
{
    if (!parts_.budget->is_constant()) return false;
    const auto budget = static_cast<size_t>(parts_.budget->most(layer) + parts_.ends.sinks + parts_.ends.recent) +
                        context_.pins.tokens() + static_cast<size_t>(ending_ ? 0 : schedule_.excess - 1);
    return longest <= budget;
}

void ComposedPolicy::select(int32_t layer, std::span<const ListState> heads,
                            std::vector<std::vector<uint32_t>>& dropped)
{
    assert(layer >= 0 && layer < context_.layers);
    dropped.resize(heads.size());
    for (auto& ranks : dropped)
        ranks.clear();
    merges_.clear();
    if (!evicts_now()) return;
    select_due(layer, heads, dropped);
    if (layer + 1 == context_.layers) ending_ = false;
}

void ComposedPolicy::select_due(int32_t layer, std::span<const ListState> heads,
                                std::vector<std::vector<uint32_t>>& dropped)
{
    LayerCuts& cuts = cuts_[couples_layers() ? static_cast<size_t>(layer) : 0];
    if (couples_layers()) {
        if (layer == 0) give_all_slots();
        if (!due_) return;
    } else {
        const auto longest = std::ranges::max_element(heads, {}, &ListState::size);
        if (longest == heads.end() || may_skip(layer, longest->size())) return;
        view(heads, cuts);
        if (!is_due(layer, cuts)) return;
    }
    if (parts_.selection->reads_shaped() && cuts.lists.front().shaped.data() == nullptr) shape(cuts);
    parts_.selection->select(layer, cuts.lists, dropped);
    map_to_ranks(cuts, dropped);
}

void ComposedPolicy::map_to_ranks(const LayerCuts& cuts, std::vector<std::vector<uint32_t>>& dropped)
{
    const auto merges = parts_.selection->merges();
    merges_.assign(merges.begin(), merges.end());
    if (context_.pins.empty()) return;
    for (size_t h = 0; h < dropped.size(); ++h)
        for (uint32_t& entry : dropped[h])
            entry = cuts.ranks[h][entry];
    for (size_t h = 0; h < merges_.size(); ++h)
        for (Merge& merge : merges_[h]) {
            merge.into = cuts.ranks[h][merge.into];
            for (uint32_t& entry : merge.of)
                entry = cuts.ranks[h][entry];
        }
}

bool ComposedPolicy::plans() const
{
    if (!parts_.budget) return true;
    const bool by_sizes = parts_.budget->follows_sizes() && !couples_layers();
    const bool by_tokens = parts_.signal.window_percent <= 0; // the window does not depend on list sizes
    return by_sizes && by_tokens && parts_.selection->plans() && score_rule(parts_.signal.kind).has_value();
}

int32_t ComposedPolicy::max_evicted_per_token() const
{
    if (!parts_.budget) return 1;
    return schedule_.excess - 1 + static_cast<int32_t>(parts_.selection->max_evicted_per_token());
}

kernels::SelectionRule ComposedPolicy::selection_rule() const
{
    if (!parts_.budget || !plans()) return {};
    kernels::SelectionRule rule = parts_.selection->rule();
    if (rule.select == kernels::SelectRule::Given) return rule;
    rule.score = *score_rule(parts_.signal.kind);
    if (rule.select == kernels::SelectRule::Lowest) {
        rule.pooling = pool_rule(parts_.shaping.pooling);
        rule.kernel = parts_.shaping.kernel;
        rule.layer_mean = parts_.shaping.layer_mean;
    }
    return rule;
}

void ComposedPolicy::plan(int32_t layer, std::span<const uint32_t> sizes, std::span<const uint32_t> pinned,
                          EvictionPlan& plan)
{
    assert(plans() && layer >= 0 && layer < context_.layers);
    if (pinned.size() != (holds_pins(layer) ? sizes.size() : 0))
        throw Error(ErrorKind::Internal, ErrorCode::PolicyPinsMismatch, Text("policy '{0}'", resolved_.name),
                    Text("it received the pins of {0} lists", pinned.size()),
                    Text("report this with the options used"));
    plan.reset(sizes);
    merges_.clear();
    if (!evicts_now()) return;
    plan_due(layer, sizes, pinned, plan);
    if (layer + 1 == context_.layers) ending_ = false;
}

void ComposedPolicy::plan_due(int32_t layer, std::span<const uint32_t> sizes, std::span<const uint32_t> pinned,
                              EvictionPlan& plan)
{
    const auto longest = std::ranges::max_element(sizes);
    if (longest == sizes.end() || may_skip(layer, *longest)) return;
    LayerCuts& cuts = cuts_.front();
    view(sizes, pinned, cuts);
    if (is_due(layer, cuts)) parts_.selection->plan(layer, cuts.lists, plan);
}

void ComposedPolicy::end_prefill()
{
    if (!waits_for_end()) return;
    ending_ = true;
    ended_ = true;
}

std::vector<std::byte> ComposedPolicy::state() const
{
    StateWriter out;
    out.word(state_version);
    out.word(static_cast<uint32_t>(context_.layers));
    if (parts_.selection) parts_.selection->save(out);
    if (parts_.budget) parts_.budget->save(out);
    if (schedule_.once) out.word(ended_ ? 1 : 0);
    return out.take();
}

void ComposedPolicy::restore(std::span<const std::byte> state)
{
    StateReader in(state);
    const auto layers = static_cast<uint32_t>(context_.layers);
    in.word_within(Text("version"), state_version, state_version);
    in.word_within(Text("number of layers"), layers, layers);
    auto selection = parts_.selection ? parts_.selection->clone() : nullptr;
    auto budget = parts_.budget ? parts_.budget->clone() : nullptr;
    if (selection) selection->load(in);
    if (budget) budget->load(in);
    const bool ended = schedule_.once && in.word_within(Text("end of the reading"), 0, 1) == 1;
    in.expect_end();
    parts_.selection = std::move(selection);
    parts_.budget = std::move(budget);
    ended_ = ended;
    ending_ = false;
}

std::unique_ptr<Policy> ComposedPolicy::clone() const
{
    PolicyParts parts{.budget = parts_.budget ? parts_.budget->clone() : nullptr,
                      .signal = parts_.signal,
                      .shaping = parts_.shaping,
                      .selection = parts_.selection ? parts_.selection->clone() : nullptr,
                      .ends = parts_.ends,
                      .positions = parts_.positions,
                      .retrieval = parts_.retrieval,
                      .capped = parts_.capped};
    auto copy = std::make_unique<ComposedPolicy>(std::move(parts), schedule_, resolved_, context_);
    copy->ended_ = ended_;
    return copy;
}

} // namespace palimpsest::engine
