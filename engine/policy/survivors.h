// Who stays in a tile: the one with more attention, or fixed offsets.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "engine/policy/score.h"

namespace palimpsest::engine {

class Survivors {
public:
    virtual ~Survivors() = default;

    // False: the same entries leave every head's list.
    virtual bool reads_scores() const = 0;
    // As a backend does it (kernels/eviction.h), but for the places of a tile. Given: no score is read.
    virtual kernels::SelectionRule rule() const { return {}; }
    // entries[place] is the rank standing at a place of `tile`. Moves the survivors to the tile's first places and
    // appends the others to `dropped`.
    virtual void thin(int32_t layer, std::span<const uint32_t> tile, const ScoreView& score,
                      std::span<uint32_t> entries, std::vector<uint32_t>& dropped) const = 0;
};

// Of a pair the higher score stays; ties drop the left one, as TreeKV does (policies.md, 5).
class HigherScore final : public Survivors {
public:
    bool reads_scores() const override { return true; }
    kernels::SelectionRule rule() const override { return {.select = kernels::SelectRule::Tiles, .kept = 1}; }
    void thin(int32_t layer, std::span<const uint32_t> tile, const ScoreView& score, std::span<uint32_t> entries,
              std::vector<uint32_t>& dropped) const override;
};

// Of every tile the K entries with the highest scores stay; ties keep the lower rank.
class BestOfTile final : public Survivors {
public:
    explicit BestOfTile(uint32_t kept) : kept_(kept) {}

    bool reads_scores() const override { return true; }
    kernels::SelectionRule rule() const override
    {
        return {.select = kernels::SelectRule::Tiles, .kept = static_cast<int32_t>(kept_), .ties_keep_older = true};
    }
    void thin(int32_t layer, std::span<const uint32_t> tile, const ScoreView& score, std::span<uint32_t> entries,
              std::vector<uint32_t>& dropped) const override;

private:
    uint32_t kept_; // K
};

// The same offsets of every tile stay, which may differ between layers.
class FixedOffsets final : public Survivors {
public:
    // One set for each layer, ascending.
    explicit FixedOffsets(std::vector<std::vector<uint32_t>> kept) : kept_(std::move(kept)) {}

    bool reads_scores() const override { return false; }
    void thin(int32_t layer, std::span<const uint32_t> tile, const ScoreView& score, std::span<uint32_t> entries,
              std::vector<uint32_t>& dropped) const override;

private:
    std::vector<std::vector<uint32_t>> kept_; // [layers][K]
};

} // namespace palimpsest::engine
