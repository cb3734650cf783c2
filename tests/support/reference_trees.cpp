#include "tests/support/reference_trees.h"

#include <algorithm>
#include <map>

#include "tests/support/reference_shaping.h"

namespace palimpsest::tests {

namespace {

void erase_ranks(ReferenceList& list, int first, int last)
{
    list.erase(list.begin() + first, list.begin() + last);
}

bool is_longer(const ReferenceList& list, int target)
{
    return static_cast<int>(list.size()) > target;
}

// Keeps one of the ranks i and i + 1; its level becomes the higher level of the two, plus one.
void merge_pair(const ReferenceSettings& settings, ReferenceList& list, int i)
{
    const auto at = static_cast<size_t>(i);
    const bool left_stays = settings.keep_left || score_of(settings, list[at]) > score_of(settings, list[at + 1]);
    const int level = std::max(list[at].level, list[at + 1].level) + 1;
    erase_ranks(list, left_stays ? i + 1 : i, left_stays ? i + 2 : i + 1);
    list[at].level = level;
}

// For trees without slots: evicts the tokens that are no longer recent.
void drop_behind_sinks(const ReferenceSettings& settings, ReferenceList& list, int target)
{
    while (is_longer(list, target))
        erase_ranks(list, settings.s, settings.s + 1);
}

} // namespace

void thin_treekv(const ReferenceSettings& settings, ReferenceList& list, int target, int slots, int& cursor)
{
    if (slots == 0) return drop_behind_sinks(settings, list, target);
    while (is_longer(list, target)) {
        int i = cursor < slots ? cursor : 0;
        if (settings.height > 0) {
            int tried = 0;
            while (tried < slots && list[static_cast<size_t>(settings.s + i)].level >= settings.height) {
                i = (i + 1) % slots;
                ++tried;
            }
            if (tried == slots) i = 0;
        }
        merge_pair(settings, list, settings.s + i);
        cursor = i + 1;
    }
}

void thin_treekv_log(const ReferenceSettings& settings, ReferenceList& list, int target, int slots)
{
    if (slots == 0) return drop_behind_sinks(settings, list, target);
    while (is_longer(list, target)) {
        std::map<int, int> entries_of; // level -> number of entries, among ranks s ... s + m
        for (int rank = settings.s; rank <= settings.s + slots; ++rank)
            ++entries_of[list[static_cast<size_t>(rank)].level];
        int level = 0, most = 0;
        for (const auto& [candidate, entries] : entries_of) {
            if (entries <= most) continue;
            most = entries;
            level = candidate;
        }
        int rank = settings.s;
        while (most > 1 && list[static_cast<size_t>(rank)].level != level)
            ++rank;
        merge_pair(settings, list, rank);
    }
}

void thin_treekv_block(const ReferenceSettings& settings, ReferenceList& list, int target, int& cursor)
{
    const int u = settings.unit;
    const auto mean_of_block = [&](int block) {
        double sum = 0;
        for (int i = 0; i < u; ++i)
            sum += score_of(settings, list[static_cast<size_t>(settings.s + block * u + i)]);
        return sum / u;
    };
    while (is_longer(list, target)) {
        const bool left_stays = settings.keep_left || mean_of_block(cursor) > mean_of_block(cursor + 1);
        const int first = settings.s + (left_stays ? cursor + 1 : cursor) * u;
        erase_ranks(list, first, first + u);
        cursor = (cursor + 1) % (settings.selectable() / u);
    }
}

std::vector<int> kept_offsets_of(const ReferenceSettings& settings, int layers, int layer)
{
    const int removed = settings.tile - settings.tile_keeps;
    std::vector<int> offsets;
    for (int k = 0; k < settings.tile_keeps; ++k) {
        if (settings.pattern == "even") {
            offsets.push_back(k * settings.tile / settings.tile_keeps);
        } else if (settings.pattern == "stacked") {
            offsets.push_back(layer % (removed + 1) + k);
        } else {
            const int from_below = settings.pattern == "reverse" ? layers - 1 - layer : layer;
            offsets.push_back(std::clamp(from_below / settings.step - (settings.tile_keeps - 1), 0, removed) + k);
        }
    }
    return offsets;
}

void thin_lacache(const ReferenceSettings& settings, int layers, int layer, ReferenceList& list, int target,
                  int& cursor)
{
    if (cursor < settings.s) cursor = settings.s;
    while (is_longer(list, target)) {
        if (cursor + settings.tile_keeps > settings.c - settings.w) cursor = settings.s;
        std::vector<int> stay = kept_offsets_of(settings, layers, layer);
        if (settings.survivors == "score") {
            std::vector<double> scores;
            scores.reserve(static_cast<size_t>(settings.tile));
            for (int i = 0; i < settings.tile; ++i)
                scores.push_back(score_of(settings, list[static_cast<size_t>(cursor + i)]));
            stay = top_k(scores, settings.tile_keeps);
        }
        for (int i = settings.tile - 1; i >= 0; --i)
            if (!std::binary_search(stay.begin(), stay.end(), i)) erase_ranks(list, cursor + i, cursor + i + 1);
        cursor += settings.tile_keeps;
    }
}

} // namespace palimpsest::tests
