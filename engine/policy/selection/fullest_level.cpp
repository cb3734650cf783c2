#include "engine/policy/selection/fullest_level.h"

#include <limits>

namespace palimpsest::engine {
namespace {

constexpr uint32_t highest_level = 1u << 31; // no stream reaches it, and adding 1 does not overflow
constexpr size_t most_runs = 40; // more than any stream needs: each level takes twice the tokens of the one below,
                                 // and a stream has at most 2^32

} // namespace

FullestLevel::FullestLevel(size_t lists, int32_t most_slots)
    : most_slots_(static_cast<uint32_t>(most_slots)), lists_(lists)
{
}

// Returns the run with the most entries; ties: the lower level, which comes later in `runs`.
FullestLevel::Runs::iterator FullestLevel::fullest(Runs& runs)
{
    auto best = runs.begin();
    for (auto run = runs.begin(); run != runs.end(); ++run) {
        if (run->count >= best->count) best = run;
    }
    return best;
}

FullestLevel::Runs FullestLevel::split(Runs& runs, uint32_t entries)
{
    Runs beyond;
    auto run = runs.begin();
    while (run != runs.end() && entries >= run->count)
        entries -= (run++)->count;
    if (run != runs.end() && entries > 0) {
        beyond.push_back({.level = run->level, .count = run->count - entries, .first = 0});
        (run++)->count = entries;
    }
    beyond.insert(beyond.end(), run, runs.end());
    runs.erase(run, runs.end());
    return beyond;
}

void FullestLevel::merge_oldest(Runs& runs, Runs::iterator run, RankList& places, std::vector<uint32_t>& tiles)
{
    const uint32_t left = run->first;
    const uint32_t right = places.next(left);
    tiles.insert(tiles.end(), {left, right});
    places.join(left, places.next(right));

    run->first = places.next(left);
    run->count -= 2;
    const uint32_t risen = run->level + 1;
    if (run->count == 0) run = runs.erase(run);
    if (run != runs.begin() && (run - 1)->level == risen) {
        ++(run - 1)->count;
    } else {
        runs.insert(run, {.level = risen, .count = 1, .first = left});
    }
}

void FullestLevel::next_tiles(size_t list, const Extent& extent, std::vector<uint32_t>& tiles)
{
    Runs& runs = lists_[list];
    runs.reserve(most_runs);
    places_.reset(extent.size);
    Runs beyond = split(runs, extent.slots); // the region had more slots before
    size_t next = 0;
    uint32_t entering = extent.first;
    for (Run& run : runs) {
        run.first = entering;
        entering += run.count;
    }
    const auto take = [&] {
        while (next < beyond.size() && beyond[next].count == 0)
            ++next;
        const uint32_t level = next < beyond.size() ? beyond[next].level : 0;
        if (next < beyond.size()) --beyond[next].count;
        if (!runs.empty() && runs.back().level == level) {
            ++runs.back().count;
        } else {
            runs.push_back({.level = level, .count = 1, .first = entering});
        }
        ++entering;
    };

    while (entering < extent.first + extent.slots)
        take();
    for (uint32_t size = extent.size; size > extent.budget; --size) {
        take();
        auto run = fullest(runs);
        // If every level has only one entry, the two oldest entries of the region form the pair.
        if (run->count == 1) {
            run = runs.begin();
            run->count = 2;
            runs.erase(run + 1);
        }
        merge_oldest(runs, run, places_, tiles);
    }
    for (; next < beyond.size(); ++next) {
        if (beyond[next].count == 0) continue;
        if (!runs.empty() && runs.back().level == beyond[next].level)
            runs.back().count += beyond[next].count;
        else
            runs.push_back(beyond[next]);
    }
}

void FullestLevel::note_eviction(size_t list, uint32_t entries)
{
    lists_[list] = split(lists_[list], entries);
}

void FullestLevel::save(StateWriter& out) const
{
    for (const Runs& runs : lists_) {
        out.word(static_cast<uint32_t>(runs.size()));
        for (const Run& run : runs) {
            out.word(run.level);
            out.word(run.count);
        }
    }
}

void FullestLevel::load(StateReader& in)
{
    for (Runs& runs : lists_) {
        runs.clear();
        const uint32_t size = in.word_within(Text("number of levels"), 0, most_slots_);
        uint32_t above = highest_level + 1; // levels strictly decrease from run to run
        uint32_t left = most_slots_;
        for (uint32_t i = 0; i < size; ++i) {
            if (above == 0 || left == 0) StateReader::refuse(Text("its levels increase or exceed the budget"));
            above = in.word_within(Text("level"), 0, above - 1);
            const uint32_t count = in.word_within(Text("entries of a level"), 1, left);
            left -= count;
            runs.push_back({.level = above, .count = count, .first = 0});
        }
    }
}

std::vector<uint32_t> FullestLevel::levels(size_t list) const
{
    std::vector<uint32_t> out;
    for (const Run& run : lists_[list])
        out.insert(out.end(), run.count, run.level);
    return out;
}

} // namespace palimpsest::engine
