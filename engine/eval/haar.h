// Multi-level discrete wavelet decomposition with the Haar wavelet (TreeKV, section 3.2): a signal as the sum of
// its details at `levels` scales and of what is left.
//
//   A_l[n] = (A_(l-1)[2n] + A_(l-1)[2n + 1]) / sqrt(2)     D_l[n] = (A_(l-1)[2n] - A_(l-1)[2n + 1]) / sqrt(2)
//
// with A_0 the signal. Rec(D_l) is the signal that the details D_l alone are reconstructed to: +-D_l[n] / 2^(l/2)
// on the 2^l places from n * 2^l on, + on the first half of them.
#pragma once

#include <cstdint>
#include <vector>

namespace palimpsest::engine {

struct HaarMagnitudes {
    // [levels] for l = 1, 2, ...: [places / 2^l] mean of |Rec(D_l)| over the signals, the same on all places of a
    // block of 2^l
    std::vector<std::vector<double>> details;
    std::vector<double> approximation; // [places / 2^levels] mean of |Rec(A_levels)|
};

// `signals`: [places, width], width signals along the places. Costs a few operations per number. REQUIRES: places
// is a multiple of 2^levels, levels and width at least 1.
HaarMagnitudes haar_magnitudes(std::vector<double> signals, int64_t width, int levels);

} // namespace palimpsest::engine
