// Byte-pair merging (Sennrich, Haddow, Birch 2016, "Neural Machine Translation of Rare Words with Subword Units"):
// repeatedly merges the neighbouring pair of the lowest rank, the leftmost of equals, until no pair can merge.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "engine/text/subwords/vocabulary.h"

namespace palimpsest::engine {

// A token of a text during merging, and the number of bytes that it covers.
struct Symbol {
    TokenId id = -1;
    uint32_t bytes = 0;
};

// Immutable; apply may be called from several threads at once.
class MergeTable {
public:
    // The first of several merges of the same pair counts. REQUIRES: ids >= 0.
    explicit MergeTable(std::span<const PieceMerge> merges);

    // Merges in place. Time n log n in the number of symbols; returns the number of pairs looked up and queued.
    size_t apply(std::vector<Symbol>& symbols) const;

private:
    static constexpr int32_t no_merge = INT32_MAX;
    struct Entry {
        uint64_t pair = empty_pair;
        int32_t rank = no_merge; // lower merges first
        TokenId result = -1;
    };
    static constexpr uint64_t empty_pair = UINT64_MAX;

    static uint64_t pair_of(TokenId left, TokenId right)
    {
        return static_cast<uint64_t>(static_cast<uint32_t>(left)) << 32 | static_cast<uint32_t>(right);
    }
    size_t home(uint64_t pair) const { return static_cast<size_t>((pair * 0x9E3779B97F4A7C15u) >> shift_); }
    // The pair's entry; an empty entry if it does not merge.
    const Entry& find(TokenId left, TokenId right) const;

    size_t apply_to_few(std::vector<Symbol>& symbols) const;
    size_t apply_to_many(std::vector<Symbol>& symbols) const;

    std::vector<Entry> entries_; // open addressing; at most half full; its size is a power of two
    int shift_ = 63;
};

} // namespace palimpsest::engine
