#include "engine/eval/haar.h"

#include <cassert>
#include <cmath>
#include <numbers>

namespace palimpsest::engine {
namespace {

constexpr double half_root = std::numbers::sqrt2 / 2;

// Replaces the rows, [rows, width], by half as many of the next level's A, and returns the mean magnitudes of D.
std::vector<double> next_level(std::vector<double>& signals, size_t width)
{
    const size_t rows = signals.size() / width / 2;
    std::vector<double> magnitudes(rows, 0.0);
    for (size_t n = 0; n < rows; ++n)
        for (size_t i = 0; i < width; ++i) {
            const double a = signals[2 * n * width + i], b = signals[(2 * n + 1) * width + i];
            magnitudes[n] += std::abs((a - b) * half_root) / static_cast<double>(width);
            signals[n * width + i] = (a + b) * half_root;
        }
    signals.resize(rows * width);
    return magnitudes;
}

void scale(std::vector<double>& numbers, double factor)
{
    for (double& number : numbers)
        number *= factor;
}

} // namespace

HaarMagnitudes haar_magnitudes(std::vector<double> signals, int64_t width, int levels)
{
    const auto columns = static_cast<size_t>(width);
    assert(width >= 1 && levels >= 1 && signals.size() % (columns << levels) == 0);
    HaarMagnitudes result;
    double height = 1; // of a reconstructed coefficient
    for (int l = 1; l <= levels; ++l) {
        height *= half_root;
        result.details.push_back(next_level(signals, columns));
        scale(result.details.back(), height);
    }
    for (size_t n = 0; n < signals.size(); n += columns) {
        double sum = 0;
        for (size_t i = 0; i < columns; ++i)
            sum += std::abs(signals[n + i]);
        result.approximation.push_back(height * sum / static_cast<double>(width));
    }
    return result;
}

} // namespace palimpsest::engine
