// Keeps whole blocks, chosen in rounds: the best of all blocks, and the best in each of several stretches of the
// list (HBW-KV, section 3, and ChunkKV, algorithm 1; docs/policies-spec.md, blocks in rounds).
#pragma once

#include "engine/policy/selection/selection.h"

namespace palimpsest::engine {

// What a block is compared by: the mean or the sum of the scores of its entries. Only a last block that is shorter
// makes a difference.
enum class BlockScore : uint8_t { Mean, Sum };

class GroupedBlocks final : public StatelessSelection<GroupedBlocks> {
public:
    // `block`: entries per block; rounds[r]: number of stretches (groups of blocks) that round r divides the list
    // into. REQUIRES: all at least 1.
    GroupedBlocks(int32_t block, std::vector<int32_t> rounds, BlockScore score = BlockScore::Mean)
        : block_(static_cast<uint32_t>(block)), rounds_(std::move(rounds)), score_(score)
    {
    }

    bool reads_shaped() const override { return true; }
    void select(int32_t layer, std::span<const ListCut> heads,
                std::vector<std::vector<uint32_t>>& dropped) override;

private:
    struct Blocks {
        std::vector<double> scores;
        std::vector<bool> taken;
        std::vector<uint32_t> order; // scratch
    };

    void cut_blocks(const ListCut& list);
    void take_best(uint32_t first, uint32_t last, uint32_t quota); // among blocks [first, last)
    void take_rounds(uint32_t quota);
    uint32_t size_of(const ListCut& list, uint32_t block) const;
    void choose(const ListCut& list, std::vector<uint32_t>& dropped);
    void fill_up(const ListCut& list, uint32_t left, std::vector<uint32_t>& dropped);

    uint32_t block_;
    std::vector<int32_t> rounds_;
    BlockScore score_;
    Blocks blocks_;
};

} // namespace palimpsest::engine
