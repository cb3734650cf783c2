// Tile schedule of treekv-log: takes each pair from the level that has the most entries, so that about equally many
// entries are kept for every doubling of age (docs/policies-spec.md, treekv-log).
#pragma once

#include <cstdint>
#include <vector>

#include "engine/policy/selection/rank_list.h"
#include "engine/policy/selection/tile_schedule.h"

namespace palimpsest::engine {

// Every entry of the middle region, between sinks and recent tokens, has a level: 0 when it stops being recent. The
// kept entry of a pair gets the higher of the two levels plus one. The two oldest entries of the fullest level form
// the next pair. Levels never increase from old to new and depend on no score, so the state is a level and a length
// for each run of entries with equal levels. Cost of next_tiles: evicted entries times runs.
class FullestLevel final : public TileSchedule {
public:
    FullestLevel(size_t lists, int32_t most_slots);

    uint32_t tile_size() const override { return 2; }
    void next_tiles(size_t list, const Extent& extent, std::vector<uint32_t>& tiles) override;
    void note_eviction(size_t list, uint32_t entries) override;
    void save(StateWriter& out) const override;
    void load(StateReader& in) override;
    std::unique_ptr<TileSchedule> clone() const override { return std::make_unique<FullestLevel>(*this); }

    // Levels of the region's entries, oldest first; entries behind the last of them have level 0.
    std::vector<uint32_t> levels(size_t list) const;

private:
    struct Run {
        uint32_t level = 0;
        uint32_t count = 0;
        uint32_t first = 0; // place of the run's oldest entry; valid during next_tiles
    };

    using Runs = std::vector<Run>; // oldest first: levels strictly decrease

    static Runs::iterator fullest(Runs& runs);
    static Runs split(Runs& runs, uint32_t entries); // removes and returns all beyond the first `entries`
    static void merge_oldest(Runs& runs, Runs::iterator run, RankList& places, std::vector<uint32_t>& tiles);

    uint32_t most_slots_;
    std::vector<Runs> lists_;
    RankList places_;
};

} // namespace palimpsest::engine
