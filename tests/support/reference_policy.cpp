#include "tests/support/reference_policy.h"

#include <algorithm>
#include <map>
#include <stdexcept>

namespace palimpsest::tests {

namespace {

int round_up_division(int a, int b)
{
    return a / b + (a % b != 0 ? 1 : 0);
}

void erase_rank(ReferenceList& list, int rank)
{
    list.erase(list.begin() + rank);
}

} // namespace

ReferencePolicy::ReferencePolicy(const engine::PolicySpec& spec, int layers, int heads, int budget,
                                 std::set<uint32_t> pinned)
    : spec_(spec), layers_(layers), heads_(heads), pinned_(std::move(pinned)), budget_(budget),
      c_(budget - static_cast<int>(pinned_.size())), lists_(static_cast<size_t>(layers * heads)),
      cursors_(static_cast<size_t>(layers * heads), 0)
{
    s_ = number("sinks", 4);
    const std::string pattern = text("pattern", "stacked");
    if (spec.name == "lacache") {
        w_ = number("recent", pattern == "recent" || pattern == "old" ? 1 : layers);
    } else {
        w_ = number("recent", std::max(0, c_ / 2 - s_));
    }
    const std::string schedule = text("schedule", "chunk");
    if (schedule.rfind("every:", 0) == 0) excess_ = std::stoi(schedule.substr(6));
}

ReferencePolicy ReferencePolicy::restarted(const engine::PolicySpec& spec, std::set<uint32_t> pinned) const
{
    ReferencePolicy other(spec, layers_, heads_, budget_, std::move(pinned));
    other.tokens_ = tokens_;
    other.lists_ = lists_;
    for (auto& list : other.lists_)
        for (auto& entry : list)
            entry.level = 0;
    return other;
}

std::string ReferencePolicy::text(const std::string& key, const std::string& fallback) const
{
    const auto found = spec_.parameters.find(key);
    return found == spec_.parameters.end() ? fallback : found->second;
}

int ReferencePolicy::number(const std::string& key, int fallback) const
{
    const auto found = spec_.parameters.find(key);
    return found == spec_.parameters.end() ? fallback : std::stoi(found->second);
}

ReferenceList& ReferencePolicy::list(int layer, int head)
{
    return lists_.at(static_cast<size_t>(layer * heads_ + head));
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
    const int b = static_cast<int>(attention.at(0).size());
    const int n = static_cast<int>(entries.size());
    const bool last_row = text("score", "mean") == "last"; // a window of one query; otherwise all queries
    const int first_row = last_row ? b - 1 : 0;
    for (int j = 0; j < n; ++j) {
        ReferenceEntry& entry = entries[static_cast<size_t>(j)];
        if (last_row) entry.sum = entry.count = 0;
        for (int r = first_row; r < b; ++r) {
            if (j > n - b + r) continue;
            double over_heads = 0;
            for (const auto& rows : attention)
                over_heads += rows[static_cast<size_t>(r)][static_cast<size_t>(j)];
            entry.sum += over_heads / static_cast<double>(attention.size());
            entry.count += 1;
        }
    }
}

void ReferencePolicy::evict(int layer)
{
    int budget = c_;
    if (spec_.name == "lacache" && text("compensate", "false") == "true" && text("pattern", "") != "recent" &&
        text("pattern", "") != "old") {
        const int span = number("span", layers_ / 2), step = span - number("overlap", 0);
        const int tile = 1 + round_up_division(layers_ - span, step);
        budget += (tile - std::min(round_up_division(span, step), tile)) / 2;
    }
    for (int head = 0; head < heads_; ++head) {
        ReferenceList& all = list(layer, head);
        int& cursor = cursors_.at(static_cast<size_t>(layer * heads_ + head));
        if (static_cast<int>(all.size()) < budget + static_cast<int>(pinned_.size()) + excess_) continue;
        ReferenceList held, entries;
        for (const ReferenceEntry& entry : all)
            (pinned_.count(entry.stream) > 0 ? held : entries).push_back(entry);
        unused_ = static_cast<int>(pinned_.size() - held.size());
        const int nominal = c_;
        c_ = budget;
        if (spec_.name == "streaming" || text("pattern", "") == "recent") {
            evict_streaming(entries);
        } else if (text("pattern", "") == "old") {
            evict_old_first(entries);
        } else if (spec_.name == "treekv") {
            evict_treekv(entries, cursor);
        } else if (spec_.name == "treekv-log") {
            evict_treekv_log(entries);
        } else if (spec_.name == "lacache") {
            evict_lacache(entries, layer, cursor);
        } else if (spec_.name != "full") {
            throw std::logic_error("no reference for policy " + spec_.name);
        }
        c_ = nominal;
        all = held;
        all.insert(all.end(), entries.begin(), entries.end());
        std::sort(all.begin(), all.end(), [](const auto& a, const auto& b) { return a.stream < b.stream; });
    }
}

double ReferencePolicy::score(const ReferenceEntry& entry) const
{
    return text("score", "mean") == "mean" ? entry.sum / entry.count : entry.sum;
}

bool ReferencePolicy::keeps_left(const ReferenceEntry& left, const ReferenceEntry& right) const
{
    return text("rule", "score") == "left" || score(left) > score(right);
}

// [0, s) and [n - (c - s), n) stay.
void ReferencePolicy::evict_streaming(ReferenceList& list) const
{
    while (static_cast<int>(list.size()) > c_ + unused_)
        erase_rank(list, s_);
}

// The first c - w and the last w stay.
void ReferencePolicy::evict_old_first(ReferenceList& list) const
{
    while (static_cast<int>(list.size()) > c_ + unused_)
        erase_rank(list, c_ - w_);
}

void ReferencePolicy::evict_treekv(ReferenceList& list, int& cursor) const
{
    const int m = c_ - s_ - w_;
    const int height = text("height", "none") == "none" ? 0 : number("height", 0); // 0: no limit
    while (static_cast<int>(list.size()) > c_ + unused_) {
        int i = cursor;
        if (height > 0) {
            int tried = 0;
            while (tried < m && list[static_cast<size_t>(s_ + i)].level >= height) {
                i = (i + 1) % m;
                ++tried;
            }
            if (tried == m) i = 0;
        }
        const ReferenceEntry left = list[static_cast<size_t>(s_ + i)];
        const ReferenceEntry right = list[static_cast<size_t>(s_ + i + 1)];
        erase_rank(list, keeps_left(left, right) ? s_ + i + 1 : s_ + i);
        list[static_cast<size_t>(s_ + i)].level = std::max(left.level, right.level) + 1;
        cursor = (i + 1) % m;
    }
}

void ReferencePolicy::evict_treekv_log(ReferenceList& list) const
{
    const int m = c_ - s_ - w_;
    while (static_cast<int>(list.size()) > c_ + unused_) {
        std::map<int, int> entries_of; // level -> entries, among ranks s ... s + m
        for (int rank = s_; rank <= s_ + m; ++rank)
            ++entries_of[list[static_cast<size_t>(rank)].level];
        int level = 0, most = 0;
        for (const auto& [candidate, entries] : entries_of) {
            if (entries > most) {
                most = entries;
                level = candidate;
            }
        }
        int rank = s_;
        if (most > 1) {
            while (list[static_cast<size_t>(rank)].level != level)
                ++rank;
        }
        const ReferenceEntry left = list[static_cast<size_t>(rank)];
        const ReferenceEntry right = list[static_cast<size_t>(rank + 1)];
        erase_rank(list, keeps_left(left, right) ? rank + 1 : rank);
        list[static_cast<size_t>(rank)].level = std::max(left.level, right.level) + 1;
    }
}

std::vector<int> ReferencePolicy::kept_offsets(int layer, int tile, int kept) const
{
    const int step = number("span", layers_ / 2) - number("overlap", 0);
    const int removed = tile - kept;
    const std::string pattern = text("pattern", "stacked");
    std::vector<int> offsets;
    for (int k = 0; k < kept; ++k) {
        if (pattern == "even") {
            offsets.push_back(k * tile / kept);
        } else if (pattern == "stacked") {
            offsets.push_back(layer % (removed + 1) + k);
        } else {
            const int from_below = pattern == "reverse" ? layers_ - 1 - layer : layer;
            offsets.push_back(std::min(removed, std::max(0, from_below / step - (kept - 1))) + k);
        }
    }
    return offsets;
}

void ReferencePolicy::evict_lacache(ReferenceList& list, int layer, int& cursor) const
{
    const int span = number("span", layers_ / 2);
    const int step = span - number("overlap", 0);
    const int tile = 1 + round_up_division(layers_ - span, step);
    const int kept = std::min(round_up_division(span, step), tile);
    const std::vector<int> stay = kept_offsets(layer, tile, kept);
    if (cursor == 0) cursor = s_;
    while (static_cast<int>(list.size()) > c_ + unused_) {
        if (cursor + kept > c_ - w_) cursor = s_;
        for (int offset = tile - 1; offset >= 0; --offset) {
            if (std::find(stay.begin(), stay.end(), offset) == stay.end()) erase_rank(list, cursor + offset);
        }
        cursor += kept;
    }
}

} // namespace palimpsest::tests
