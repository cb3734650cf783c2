#include "engine/policy/named/local_layers.h"

#include <algorithm>
#include <numeric>

#include "engine/policy/state_bytes.h"

namespace palimpsest::engine {

namespace {

// Keeps the last tokens in local layers. In the other layers a named policy acts, which counts only these.
class LocalLayers final : public Policy {
public:
    // `kept`: [layers] tokens that a local layer keeps; 0: `named` acts there. `named` is made as if the model had
    // only those layers; if there are none, it only supplies its name and defaults.
    LocalLayers(std::unique_ptr<Policy> named, std::vector<int32_t> kept, int32_t kv_heads)
        : named_(std::move(named)), kept_(std::move(kept)), kv_heads_(kv_heads)
    {
        int32_t next = 0;
        for (const int32_t tokens : kept_)
            numbers_.push_back(tokens == 0 ? next++ : -1);
        if (next > 0) acting_ = named_.get();
    }

    const PolicySpec& resolved() const override { return named_->resolved(); }
    SignalNeeds signals() const override { return acting_ ? acting_->signals() : SignalNeeds{}; }
    PositionMode default_positions() const override { return named_->default_positions(); }
    bool bounded() const override { return !acting_ || acting_->bounded(); }
    bool layer_bounded(int32_t layer) const override { return is_local(layer) || acting_->bounded(); }
    bool couples_layers() const override { return acting_ && acting_->couples_layers(); }
    bool heads_alike() const override { return !acting_ || acting_->heads_alike(); }
    bool heads_hold_same() const override { return acting_ && acting_->heads_hold_same(); }
    bool watches(int32_t layer) const override { return !is_local(layer); }
    int32_t list_budget(int32_t layer, int32_t head) const override
    {
        return is_local(layer) ? tokens(layer) : acting_->list_budget(number(layer), head);
    }
    int32_t capacity() const override { return named_->capacity(); }
    int64_t total_budget() const override
    {
        const int64_t local = std::accumulate(kept_.begin(), kept_.end(), int64_t{0}) * kv_heads_;
        return local + (acting_ ? acting_->total_budget() : 0);
    }
    std::optional<Retrieval> retrieval() const override
    {
        auto how = acting_ ? acting_->retrieval() : std::nullopt;
        if (!how) return how;
        how->whole.clear();
        for (size_t l = 0; l < kept_.size(); ++l)
            how->whole.push_back(kept_[l] > 0 || numbers_[l] < how->skip_layers);
        return how;
    }

    void observe(int32_t layer, std::span<const ListState> heads, const LayerObservation& seen) override
    {
        if (!is_local(layer)) acting_->observe(number(layer), heads, seen);
    }
    void select(int32_t layer, std::span<const ListState> heads,
                std::vector<std::vector<uint32_t>>& dropped) override
    {
        of_acting_ = !is_local(layer);
        if (of_acting_) return acting_->select(number(layer), heads, dropped);
        dropped.resize(heads.size());
        for (size_t h = 0; h < heads.size(); ++h) {
            dropped[h].resize(evicted_count(layer, heads[h].size()));
            std::iota(dropped[h].begin(), dropped[h].end(), 0u);
        }
    }
    bool plans() const override { return !acting_ || acting_->plans(); }
    kernels::SelectionRule selection_rule() const override
    {
        return acting_ ? acting_->selection_rule() : kernels::SelectionRule{};
    }
    int32_t max_evicted_per_token() const override { return acting_ ? acting_->max_evicted_per_token() : 1; }
    bool holds_pins(int32_t layer) const override { return !is_local(layer) && acting_->holds_pins(number(layer)); }
    void plan(int32_t layer, std::span<const uint32_t> sizes, std::span<const uint32_t> pinned,
              EvictionPlan& plan) override
    {
        of_acting_ = !is_local(layer);
        if (of_acting_) return acting_->plan(number(layer), sizes, pinned, plan);
        plan.reset(sizes);
        for (size_t h = 0; h < sizes.size(); ++h) {
            kernels::ListPlan& list = plan.list(h);
            list.evicted = evicted_count(layer, sizes[h]);
            list.given = 1;
            const bool shared = h > 0 && list.evicted == plan.list(0).evicted;
            list.data = shared ? plan.list(0).data : plan.add_range(0, list.evicted);
        }
    }
    std::span<const std::vector<Merge>> merges() const override
    {
        return of_acting_ && acting_ ? acting_->merges() : std::span<const std::vector<Merge>>();
    }

    bool waits_for_end() const override { return acting_ && acting_->waits_for_end(); }
    void end_prefill() override
    {
        if (acting_) acting_->end_prefill();
    }
    void resume_ended() override
    {
        if (acting_) acting_->resume_ended();
    }
    std::vector<std::byte> state() const override { return acting_ ? acting_->state() : std::vector<std::byte>(); }
    void restore(std::span<const std::byte> state) override
    {
        if (acting_) return acting_->restore(state);
        StateReader(state).expect_end();
    }
    std::unique_ptr<Policy> clone() const override
    {
        return std::make_unique<LocalLayers>(named_->clone(), kept_, kv_heads_);
    }

private:
    int32_t tokens(int32_t layer) const { return kept_[static_cast<size_t>(layer)]; }
    bool is_local(int32_t layer) const { return tokens(layer) > 0; }
    int32_t number(int32_t layer) const { return numbers_[static_cast<size_t>(layer)]; }
    uint32_t evicted_count(int32_t layer, size_t size) const
    {
        const auto most = static_cast<size_t>(tokens(layer));
        return size > most ? static_cast<uint32_t>(size - most) : 0;
    }

    std::unique_ptr<Policy> named_;
    Policy* acting_ = nullptr;     // named_, or null if it acts in no layer
    std::vector<int32_t> kept_;    // [layers]
    std::vector<int32_t> numbers_; // [layers] number of a layer among those the policy acts in; -1: local
    int32_t kv_heads_;
    bool of_acting_ = false; // the last select or plan was by acting_
};

} // namespace

std::unique_ptr<Policy> make_policy(const PolicySpec& spec, const PolicyContext& context,
                                    std::span<const int32_t> windows, PositionMode positions)
{
    if (std::ranges::all_of(windows, [](int32_t window) { return window == 0; })) return make_policy(spec, context);
    constexpr int32_t any_budget = 1 << 20; // does not affect the result
    const bool reads_parts =
        make_policy({spec.name, {}}, {context.layers, context.kv_heads, any_budget})->retrieval().has_value();
    std::vector<int32_t> kept;
    PolicyContext rest = context;
    rest.layers = 0;
    for (const int32_t window : windows) {
        const bool fits = window <= context.budget || reads_parts;
        const bool local = window > 0 && (fits || positions == PositionMode::Original);
        kept.push_back(!local ? 0 : reads_parts ? window : std::min(window, context.budget));
        if (!local) ++rest.layers;
    }
    if (rest.layers == context.layers) return make_policy(spec, context);
    auto named = make_policy(spec, rest.layers > 0 ? rest : context);
    return std::make_unique<LocalLayers>(std::move(named), std::move(kept), context.kv_heads);
}

} // namespace palimpsest::engine
