#include "engine/session/entry_merge.h"

#include <cassert>

namespace palimpsest::engine {
namespace {

enum class Direction { To, From };

// Rotates a key to a position, or back from it. Pairs are (i, i + half), as in kernels::RopeTable.
void rotate(std::vector<float>& key, const RopeAngles& angles, uint32_t position, Direction direction)
{
    const std::vector<float> row = angles.table(position, 1);
    const size_t half = row.size() / 2;
    for (size_t i = 0; i < half; ++i) {
        const double cosine = row[i], sine = direction == Direction::To ? row[half + i] : -row[half + i];
        const double a = key[i], b = key[half + i];
        key[i] = static_cast<float>(a * cosine - b * sine);
        key[half + i] = static_cast<float>(b * cosine + a * sine);
    }
}

class Mean {
public:
    explicit Mean(size_t size) : sums_(size, 0.0) {}

    template<class T>
    void add(std::span<const T> values)
    {
        for (size_t i = 0; i < values.size(); ++i)
            sums_[i] += static_cast<double>(values[i]);
        ++count_;
    }
    template<class T>
    void to(std::span<T> values) const
    {
        for (size_t i = 0; i < values.size(); ++i)
            values[i] = static_cast<T>(sums_[i] / static_cast<double>(count_));
    }

private:
    std::vector<double> sums_;
    int64_t count_ = 0;
};

// `values` holds the same number of values for each of n ranks.
void average(std::vector<double>& values, size_t n, const Merge& merge)
{
    const size_t each = values.size() / n;
    Mean mean(each);
    for (const uint32_t rank : merge.of)
        mean.add(std::span<const double>(values).subspan(rank * each, each));
    mean.to(std::span(values).subspan(merge.into * each, each));
}

} // namespace

void merge_entries(KvCache& cache, HostLists& lists, int32_t layer, int32_t head, kernels::Phase phase,
                   const Merge& merge, const RopeAngles& angles, PositionMode positions)
{
    assert(!merge.of.empty());
    const auto dim = static_cast<size_t>(cache.shape().heads.head_dim);
    TokenList& list = lists.statistics(layer, head);
    const bool is_original = positions == PositionMode::Original; // keys are stored rotated
    const bool is_rotated = merge.keys == KeyMean::Rotated;
    const auto position = [&](uint32_t rank) { return is_original ? list.stream[rank] : rank; };
    std::vector<float> key(dim), value(dim);
    Mean keys(dim), values(dim);
    for (const uint32_t rank : merge.of) {
        cache.load_entry(layer, head, rank, phase, key, value);
        if (is_rotated != is_original)
            rotate(key, angles, position(rank), is_rotated ? Direction::To : Direction::From);
        keys.add(std::span<const float>(key));
        values.add(std::span<const float>(value));
    }
    keys.to(std::span(key));
    values.to(std::span(value));
    if (is_rotated != is_original)
        rotate(key, angles, position(merge.into), is_rotated ? Direction::From : Direction::To);
    cache.store_entry(layer, head, merge.into, phase, key, value);
    average(list.sum, list.size(), merge);
    average(list.count, list.size(), merge);
    average(list.moments, list.size(), merge);
}

} // namespace palimpsest::engine
