// Tile rules: which entries of an eviction tile are kept, by score or at fixed offsets.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "engine/policy/signals/score.h"

namespace palimpsest::engine {

class TileRule {
public:
    virtual ~TileRule() = default;

    // False if the rule evicts the same entries from every head's list.
    virtual bool reads_scores() const = 0;
    // The rule as a backend applies it (kernels/eviction.h), without the tile size; SelectRule::Given if it reads
    // no scores.
    virtual kernels::SelectionRule rule() const { return {}; }
    // entries[place] is the entry that is at `place` now. Moves the kept entries to the tile's first places and
    // appends the others to `dropped`.
    virtual void apply(int32_t layer, std::span<const uint32_t> tile, const ScoreView& score,
                       std::span<uint32_t> entries, std::vector<uint32_t>& dropped) const = 0;
};

// Keeps the higher score of a pair; ties evict the left one, as in TreeKV, Algorithm 1.
class HigherScore final : public TileRule {
public:
    bool reads_scores() const override { return true; }
    kernels::SelectionRule rule() const override { return {.select = kernels::SelectRule::Tiles, .kept = 1}; }
    void apply(int32_t layer, std::span<const uint32_t> tile, const ScoreView& score, std::span<uint32_t> entries,
               std::vector<uint32_t>& dropped) const override;
};

// Keeps the K entries of a tile with the highest scores; ties keep the lower rank.
class BestOfTile final : public TileRule {
public:
    explicit BestOfTile(uint32_t kept) : kept_(kept) {}

    bool reads_scores() const override { return true; }
    kernels::SelectionRule rule() const override
    {
        return {.select = kernels::SelectRule::Tiles, .kept = static_cast<int32_t>(kept_), .ties_keep_older = true};
    }
    void apply(int32_t layer, std::span<const uint32_t> tile, const ScoreView& score, std::span<uint32_t> entries,
               std::vector<uint32_t>& dropped) const override;

private:
    uint32_t kept_; // K
};

// Keeps the same offsets of every tile, which may differ between layers.
class FixedOffsets final : public TileRule {
public:
    // `kept`: one set of offsets per layer, ascending.
    explicit FixedOffsets(std::vector<std::vector<uint32_t>> kept) : kept_(std::move(kept)) {}

    bool reads_scores() const override { return false; }
    void apply(int32_t layer, std::span<const uint32_t> tile, const ScoreView& score, std::span<uint32_t> entries,
               std::vector<uint32_t>& dropped) const override;

private:
    std::vector<std::vector<uint32_t>> kept_; // [layers][K]
};

} // namespace palimpsest::engine
