// SelectRule::Tiles: evicts some entries of every eviction tile (kernels/eviction.h). One block handles a list,
// wave after wave; its threads share the tiles of a wave.
#pragma once

#include "kernels/cuda/eviction/evicted_ranks.h"
#include "kernels/cuda/eviction/eviction_scores.h"

namespace palimpsest::kernels::cuda {

template<int threads>
class TileWaves {
public:
    // `entries`, `keys`: scratch of this block, indexed by place; `keys` is used only if ties_keep_older.
    __device__ TileWaves(const EvictArgs& args, int64_t head, const ListPlan& list, uint32_t* entries,
                         uint64_t* keys)
        : args_(args), head_(head), list_(list), tile_(static_cast<uint32_t>(args.rule.tile)),
          unit_(static_cast<uint32_t>(args.rule.unit)), places_(args.plan + list.data), entries_(entries),
          keys_(keys)
    {
    }

    __device__ void mark(const EvictedRanks<threads>& to) const
    {
        const uint32_t* wave_ends = args_.plan + list_.wave_ends;
        const uint32_t tiles = list_.waves == 0 ? 0 : wave_ends[list_.waves - 1];
        for (uint32_t i = threadIdx.x; i < tiles * tile_; i += threads)
            entries_[places_[i]] = places_[i]; // threads that write the same place write the same number
        __syncthreads();
        uint32_t first = 0;
        for (uint32_t wave = 0; wave < list_.waves; ++wave) {
            const uint32_t end = wave_ends[wave];
            if (args_.rule.ties_keep_older)
                keep_best(first, end, to);
            else
                keep_higher(first, end, to);
            first = end;
        }
    }

private:
    static constexpr uint32_t nobody = ~0u;

    __device__ double score(uint32_t entry) const
    {
        const int64_t oldest = list_.first + static_cast<int64_t>(entry) * unit_;
        double total = 0;
        for (uint32_t i = 0; i < unit_; ++i)
            total = __dadd_rn(total, raw_score(args_, head_, oldest + i));
        return __ddiv_rn(total, static_cast<double>(args_.rule.unit));
    }
    __device__ void evict_entry(uint32_t entry, const EvictedRanks<threads>& to) const
    {
        for (uint32_t i = 0; i < unit_; ++i)
            to.mark(list_.first + entry * unit_ + i);
    }

    // Tiles [first, end), each a pair: keeps the left entry if its score is higher, else the right one.
    __device__ void keep_higher(uint32_t first, uint32_t end, const EvictedRanks<threads>& to) const
    {
        for (uint32_t pair = first + threadIdx.x; pair < end; pair += threads) {
            const uint32_t* places = places_ + int64_t{2} * pair;
            const uint32_t left = entries_[places[0]], right = entries_[places[1]];
            const bool left_stays = score(left) > score(right);
            entries_[places[0]] = left_stays ? left : right;
            evict_entry(left_stays ? right : left, to);
        }
        __syncthreads();
    }

    // Tiles [first, end): keeps the entries with the highest scores; ties keep the older entry.
    __device__ void keep_best(uint32_t first, uint32_t end, const EvictedRanks<threads>& to) const
    {
        for (uint32_t i = first * tile_ + threadIdx.x; i < end * tile_; i += threads)
            keys_[places_[i]] = score_key(score(entries_[places_[i]]));
        __syncthreads();
        for (uint32_t i = first * tile_ + threadIdx.x; i < end * tile_; i += threads) {
            if (better_ones(i) < static_cast<uint32_t>(args_.rule.kept)) continue;
            evict_entry(entries_[places_[i]], to);
            entries_[places_[i]] = nobody;
        }
        __syncthreads();
        for (uint32_t t = first + threadIdx.x; t < end; t += threads)
            close_up(places_ + int64_t{t} * tile_);
        __syncthreads();
    }

    // The number of entries of the same tile that precede the entry at places_[i]: those with a higher score, or an
    // equal one and a lower place.
    __device__ uint32_t better_ones(uint32_t i) const
    {
        const uint32_t begin = i / tile_ * tile_;
        const uint64_t key = keys_[places_[i]];
        uint32_t better = 0;
        for (uint32_t other = begin; other < begin + tile_; ++other) {
            const uint64_t its_key = keys_[places_[other]];
            better += its_key > key || (its_key == key && other < i) ? 1 : 0;
        }
        return better;
    }

    // Moves the kept entries of a tile to its first places, in their order.
    __device__ void close_up(const uint32_t* places) const
    {
        uint32_t to = 0;
        for (uint32_t i = 0; i < tile_; ++i)
            if (const uint32_t entry = entries_[places[i]]; entry != nobody) entries_[places[to++]] = entry;
    }

    const EvictArgs& args_;
    int64_t head_;
    const ListPlan& list_;
    uint32_t tile_, unit_;
    const uint32_t* places_; // [tiles, tile_]
    uint32_t* entries_;      // [places]
    uint64_t* keys_;         // [places]
};

} // namespace palimpsest::kernels::cuda
