// Accumulates the signals of one list with decay.
#pragma once

#include <cstdint>
#include <span>

namespace palimpsest::engine {

// The factor that past sums are multiplied with before a chunk's are added: 1 without a window, 0 if the chunk
// fills the window.
double decay(int32_t window, int32_t chunk_rows);

// Adds one chunk's column sums to the list's sums and counts.
//  window      omega for this chunk (SignalNeeds::window_of; `all` for infinity)
//  chunk_rows  b; the last b entries are the chunk's own; REQUIRES: their sum and count are 0
//  group       query heads per KV head: column sums are divided by it; 1 for low counts, which are means already
//  columns     [n] sums over the last min(b, window) rows and the group's heads
//  sum, count  [n]
void accumulate(int32_t window, int32_t chunk_rows, int32_t group, std::span<const float> columns,
                std::span<double> sum, std::span<double> count);

// Like accumulate, but for the attention of each query head and its squares.
//  sums, squares  [group, n] over the last min(b, window) rows
//  moments        [n, group, 2]
void accumulate_moments(int32_t window, int32_t chunk_rows, int32_t group, std::span<const float> sums,
                        std::span<const float> squares, std::span<double> moments);

} // namespace palimpsest::engine
