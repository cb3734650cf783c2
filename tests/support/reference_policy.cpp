#include "tests/support/reference_policy.h"

#include <algorithm>
#include <numeric>

#include "tests/support/reference_choices.h"
#include "tests/support/reference_norm.h"
#include "tests/support/reference_shaping.h"
#include "tests/support/reference_trees.h"

namespace palimpsest::tests {

ReferencePolicy::ReferencePolicy(const engine::PolicySpec& spec, const ReferenceShape& shape)
    : spec_(spec), shape_(shape),
      settings_(spec, shape.layers, shape.budget - static_cast<int>(shape.pinned.size())),
      lists_(static_cast<size_t>(shape.layers * shape.heads)), cursors_(lists_.size(), 0),
      weights_(static_cast<size_t>(shape.layers), 1.0), merges_(lists_.size())
{
}

ReferencePolicy ReferencePolicy::restarted(const engine::PolicySpec& spec, std::set<uint32_t> pinned) const
{
    ReferenceShape shape = shape_;
    shape.pinned = std::move(pinned);
    ReferencePolicy other(spec, shape);
    other.tokens_ = tokens_;
    other.ended_ = other.done_ = done_;
    other.lists_ = lists_;
    for (auto& list : other.lists_)
        for (auto& entry : list)
            entry.level = 0;
    return other;
}

ReferenceList& ReferencePolicy::list(int layer, int head)
{
    return lists_.at(at(layer, head));
}

const std::vector<ReferenceMerge>& ReferencePolicy::merges(int layer, int head) const
{
    return merges_.at(at(layer, head));
}

void ReferencePolicy::append(int tokens)
{
    for (int t = 0; t < tokens; ++t, ++tokens_) {
        for (auto& list : lists_)
            list.push_back({.stream = tokens_});
    }
}

void ReferencePolicy::accumulate(int layer, int head, const Attention& attention)
{
    ReferenceList& entries = list(layer, head);
    ReferenceSignals signals(settings_, entries, static_cast<int>(attention.at(0).size()),
                             static_cast<int>(attention.size()));
    signals.add(attention);
    entries = signals.list();
}

void ReferencePolicy::observe(int layer, const ReferenceObservation& seen)
{
    long double& weight = weights_.at(static_cast<size_t>(layer));
    const bool fills_window =
        seen.rows >= (settings_.window == ReferenceSettings::all_queries ? 8 : settings_.window);
    if (seen.rows == 0 || !fills_window) return;
    if (settings_.budgets == "observed") weight = seen.row_statistic;
    if (settings_.budgets != "cake" || settings_.window <= 1) return;

    std::vector<ReferenceList> lists(static_cast<size_t>(shape_.heads));
    std::vector<std::vector<double>> entropies(lists.size());
    std::vector<const ReferenceList*> pointers;
    for (size_t h = 0; h < lists.size(); ++h) {
        const ReferenceList& all = list(layer, static_cast<int>(h));
        for (size_t j = 0; j < all.size(); ++j) {
            if (shape_.pinned.count(all[j].stream) > 0) continue;
            lists[h].push_back(all[j]);
            entropies[h].push_back(seen.entropies.at(h).at(j));
        }
        pointers.push_back(&lists[h]);
    }
    weight = cake_preference(settings_, pointers, entropies);
}

void ReferencePolicy::evict()
{
    for (auto& merges : merges_)
        merges.clear();
    if (settings_.name == "full" || settings_.name == "quest" || settings_.name == "twilight") return;
    if (settings_.once && (!ended_ || done_)) return;
    done_ = ended_;
    split();
    const std::vector<ReferenceLayer> layers = layers_of(views_);
    slots_ = slots_of(settings_, layers,
                      shape_.context - shape_.chunk - static_cast<int>(shape_.pinned.size()) - settings_.s -
                          settings_.w);
    if (is_due(layers)) {
        for (int layer = 0; layer < shape_.layers; ++layer)
            for (int head = 0; head < shape_.heads; ++head)
                cut(layers, layer, head);
    }
    join();
}

std::vector<std::vector<int>> ReferencePolicy::slots() const
{
    ReferencePolicy scratch = *this;
    scratch.split();
    return slots_of(settings_, scratch.layers_of(scratch.views_),
                    shape_.context - shape_.chunk - static_cast<int>(shape_.pinned.size()) - settings_.s -
                        settings_.w);
}

bool ReferencePolicy::decides_by_rule() const
{
    return settings_.name == "refreekv" || settings_.name == "twilight-evict";
}

bool ReferencePolicy::needs_shapes() const
{
    if (decides_by_rule() || settings_.budgets == "auto" || settings_.shared_by_heads) return true;
    const bool unscored = settings_.name.rfind("treekv", 0) == 0 || settings_.name == "lacache" ||
                          settings_.name == "streaming" || settings_.name == "random";
    return !unscored;
}

void ReferencePolicy::split()
{
    views_.assign(lists_.size(), {});
    for (size_t i = 0; i < lists_.size(); ++i) {
        for (ReferenceEntry& entry : lists_[i]) {
            const bool is_pinned = shape_.pinned.count(entry.stream) > 0;
            (is_pinned ? views_[i].pinned : views_[i].entries).push_back(std::move(entry));
        }
        views_[i].unused = static_cast<int>(shape_.pinned.size() - views_[i].pinned.size());
    }
}

void ReferencePolicy::join()
{
    for (size_t i = 0; i < lists_.size(); ++i) {
        lists_[i].clear();
        std::merge(std::make_move_iterator(views_[i].entries.begin()),
                   std::make_move_iterator(views_[i].entries.end()),
                   std::make_move_iterator(views_[i].pinned.begin()),
                   std::make_move_iterator(views_[i].pinned.end()), std::back_inserter(lists_[i]),
                   [](const ReferenceEntry& a, const ReferenceEntry& b) { return a.stream < b.stream; });
    }
}

std::vector<ReferenceLayer> ReferencePolicy::layers_of(const std::vector<View>& views) const
{
    std::vector<ReferenceLayer> layers(static_cast<size_t>(shape_.layers));
    for (int l = 0; l < shape_.layers; ++l) {
        ReferenceLayer& layer = layers[static_cast<size_t>(l)];
        for (int h = 0; h < shape_.heads; ++h)
            layer.lists.push_back(&views[at(l, h)].entries);
        layer.weight = weights_[static_cast<size_t>(l)];
        if (!needs_shapes()) continue;
        layer.plain = plain_scores(settings_, layer.lists);
        layer.shaped = pooled_scores(settings_, layer.plain);
        if (settings_.name != "refreekv") continue;
        const bool complete = l < settings_.full_layers;
        for (const auto& scores : layer.shaped)
            layer.orders.push_back(refreekv_order(settings_, scores, complete || !settings_.ranked_by_score));
        layer.asked = complete ? settings_.c : norm_count(settings_, layer.lists, layer.orders);
    }
    return layers;
}

bool ReferencePolicy::is_due(const std::vector<ReferenceLayer>& layers) const
{
    for (int layer = 0; layer < shape_.layers; ++layer) {
        for (int head = 0; head < shape_.heads; ++head) {
            const View& view = views_[at(layer, head)];
            int keeps = settings_.s + settings_.w + slots_[static_cast<size_t>(layer)][static_cast<size_t>(head)] +
                        view.unused;
            if (decides_by_rule())
                keeps = static_cast<int>(stay_by_rule(layers[static_cast<size_t>(layer)], layer, head).size());
            if (view.n() >= keeps + settings_.excess) return true;
        }
    }
    return false;
}

void ReferencePolicy::cut(const std::vector<ReferenceLayer>& layers, int layer, int head)
{
    View& view = views_[at(layer, head)];
    int& cursor = cursors_[at(layer, head)];
    const int slots = slots_[static_cast<size_t>(layer)][static_cast<size_t>(head)];
    const int target = settings_.s + settings_.w + slots + view.unused;
    if (settings_.name == "treekv") return thin_treekv(settings_, view.entries, target, slots, cursor);
    if (settings_.name == "treekv-log") return thin_treekv_log(settings_, view.entries, target, slots);
    if (settings_.name == "treekv-block") return thin_treekv_block(settings_, view.entries, target, cursor);
    if (settings_.is_ladder()) return thin_lacache(settings_, shape_.layers, layer, view.entries, target, cursor);
    if (settings_.name == "streaming" || settings_.name == "lacache") {
        const int stays = settings_.pattern == "old" ? settings_.c - settings_.w : settings_.s;
        while (view.n() > target)
            view.entries.erase(view.entries.begin() + stays);
        return;
    }
    if (settings_.name == "random") return sample(view, target, layer, head);
    const ReferenceLayer& seen = layers[static_cast<size_t>(layer)];
    const std::vector<int> stay = decides_by_rule()
                                      ? stay_by_rule(seen, layer, head)
                                      : stay_by_choice(seen.shaped[static_cast<size_t>(head)], layer, head);
    ReferenceList left;
    for (const int rank : stay)
        left.push_back(view.entries[static_cast<size_t>(rank)]);
    view.entries = std::move(left);
}

void ReferencePolicy::sample(View& view, int target, int layer, int head) const
{
    if (view.n() <= target) return;
    const auto first = view.entries.begin() + settings_.s, end = view.entries.end() - settings_.w;
    std::vector<uint32_t> streams;
    for (auto entry = first; entry != end; ++entry)
        streams.push_back(entry->stream);
    ReferenceList left(view.entries.begin(), first);
    for (const int i : choose_randomly(settings_.seed, layer, head, streams, target - settings_.s - settings_.w))
        left.push_back(first[i]);
    left.insert(left.end(), end, view.entries.end());
    view.entries = std::move(left);
}

std::vector<int> ReferencePolicy::stay_by_rule(const ReferenceLayer& layer, int index, int head) const
{
    const int unused = views_[at(index, head)].unused;
    const std::vector<double>& score = layer.shaped[static_cast<size_t>(head)];
    if (settings_.name == "refreekv")
        return choose_by_norm(settings_, layer.orders[static_cast<size_t>(head)], layer.asked, unused);
    return choose_by_mass(settings_, score, unused);
}

std::vector<int> ReferencePolicy::stay_by_choice(const std::vector<double>& shaped, int layer, int head)
{
    const View& view = views_[at(layer, head)];
    const int n = view.n(), s = settings_.s, w = settings_.w;
    int slots = slots_[static_cast<size_t>(layer)][static_cast<size_t>(head)];
    const bool fits = n <= s + w + slots + view.unused;
    if (!fits) slots -= std::min(slots, static_cast<int>(settings_.drop * settings_.c + 1e-9));

    std::vector<int> ranks; // of the candidates
    std::vector<double> scores;
    std::set<uint32_t> below; // stream indices that the same head of the layer below keeps
    const bool funnel = settings_.nested && layer > 0;
    if (funnel)
        for (const ReferenceEntry& entry : views_[at(layer - 1, head)].entries)
            below.insert(entry.stream);
    for (int j = s; j < n - w; ++j) {
        if (funnel && below.count(view.entries[static_cast<size_t>(j)].stream) == 0) continue;
        ranks.push_back(j);
        scores.push_back(shaped[static_cast<size_t>(j)]);
    }

    std::vector<int> stay;
    stay.reserve(static_cast<size_t>(n));
    for (int j = 0; j < std::min(s, n); ++j)
        stay.push_back(j);
    for (const int i : choose(scores, fits ? static_cast<int>(scores.size()) : slots + view.unused, layer, head))
        stay.push_back(ranks[static_cast<size_t>(i)]);
    for (int j = std::max(s, n - w); j < n; ++j)
        stay.push_back(j);
    return stay;
}

std::vector<int> ReferencePolicy::choose(const std::vector<double>& candidates, int slots, int layer, int head)
{
    if (settings_.name != "hbw-kv" && settings_.name != "chunkkv") return top_k(candidates, slots);
    if (settings_.representative == "none" || static_cast<int>(candidates.size()) <= slots)
        return choose_blocks(settings_, candidates, slots);
    std::vector<int> chosen;
    for (const Representative& block : choose_representatives(settings_, candidates, slots)) {
        chosen.push_back(block.stays);
        if (settings_.representative == "avg" && block.last - block.first > 1)
            merge(layer, head, settings_.s + block.first, settings_.s + block.last, settings_.s + block.stays);
    }
    return chosen;
}

void ReferencePolicy::merge(int layer, int head, int first, int last, int into)
{
    ReferenceList& entries = views_[at(layer, head)].entries;
    ReferenceEntry mean = entries[static_cast<size_t>(into)];
    ReferenceMerge& merged = merges_[at(layer, head)].emplace_back();
    merged.into = mean.stream;
    mean.sum = mean.count = 0;
    mean.moments.assign(mean.moments.size(), {});
    for (int j = first; j < last; ++j) {
        const ReferenceEntry& entry = entries[static_cast<size_t>(j)];
        merged.of.push_back(entry.stream);
        mean.sum += entry.sum;
        mean.count += entry.count;
        for (size_t g = 0; g < mean.moments.size(); ++g) {
            mean.moments[g].sum += entry.moments[g].sum;
            mean.moments[g].squares += entry.moments[g].squares;
        }
    }
    const int n = last - first;
    mean.sum /= n;
    mean.count /= n;
    for (ReferenceMoments& moments : mean.moments)
        moments = {.sum = moments.sum / n, .squares = moments.squares / n};
    entries[static_cast<size_t>(into)] = mean;
}

} // namespace palimpsest::tests
