// The contribution of some rows of a chunk to the signals of one KV head. Contributions are added in the order of
// the rows.
#pragma once

#include <cstdint>

#include "kernels/backend.h"

namespace palimpsest::kernels {

inline constexpr float entropy_floor = 1e-10f; // added inside the logarithm of SignalRequest::entropies

// Signals that are not requested are null.
struct SignalPart {
    float* sums = nullptr;           // [ranks]
    float* low_counts = nullptr;     // [ranks]
    float* entropies = nullptr;      // [ranks]
    float* head_sums = nullptr;      // [group, ranks]
    float* head_squares = nullptr;   // [group, ranks]
    float* row_statistics = nullptr; // [group]
    int64_t ranks = 0;               // stride of a plane
};

// Hands out consecutive pieces of `memory`; if `memory` is null, only adds up their sizes.
class PartMemory {
public:
    explicit PartMemory(float* memory = nullptr) : memory_(memory) {}
    float* take(bool wanted, int64_t floats)
    {
        if (!wanted) return nullptr;
        used_ += floats;
        return memory_ ? memory_ + used_ - floats : nullptr;
    }
    int64_t used() const { return used_; }

private:
    float* memory_;
    int64_t used_ = 0;
};

inline SignalPart lay_out(const SignalRequest& wanted, int64_t group, int64_t ranks, PartMemory& memory)
{
    SignalPart part;
    part.ranks = ranks;
    part.sums = memory.take(wanted.sums, ranks);
    part.low_counts = memory.take(wanted.low_counts, ranks);
    part.entropies = memory.take(wanted.entropies, ranks);
    part.head_sums = memory.take(wanted.head_sums, group * ranks);
    part.head_squares = memory.take(wanted.head_squares, group * ranks);
    part.row_statistics = memory.take(wanted.row_statistic != RowStatistic::None, group);
    return part;
}

// Attention probabilities of one KV head's query group: [group, stride], of which the first `ranks` are used.
struct DecodeWeights {
    float* a = nullptr;
    int64_t group = 1, stride = 0, ranks = 0;

    float* head(int64_t g) const { return a + g * stride; }
};

inline bool wants_signals(const SignalRequest& wanted)
{
    return wanted.rows > 0 && (wanted.sums || wanted.low_counts || wanted.entropies || wanted.head_sums ||
                               wanted.head_squares || wanted.row_statistic != RowStatistic::None);
}

// Whether all heads of a row must be processed in the same panel.
inline bool needs_all_heads(const SignalRequest& wanted)
{
    return wanted.rows > 0 && (wanted.low_counts || wanted.head_sums || wanted.head_squares);
}

} // namespace palimpsest::kernels
