#include "tests/support/reference_signals.h"

#include <algorithm>
#include <cmath>

namespace palimpsest::tests {

ReferenceSignals::ReferenceSignals(const ReferenceSettings& settings, ReferenceList list, int chunk_rows, int group)
    : settings_(settings), list_(std::move(list)), rows_(chunk_rows), group_(group), entropies_(list_.size(), 0.0),
      close_calls_(list_.size(), 0)
{
    const int omega = settings_.omega(static_cast<int>(list_.size()));
    counted_ = std::min(chunk_rows, omega);
    const bool forgets = omega != ReferenceSettings::all_queries;
    const double kept = forgets ? std::max(0.0, 1 - static_cast<double>(chunk_rows) / omega) : 1;
    for (ReferenceEntry& entry : list_) {
        entry.sum *= kept;
        entry.count *= kept;
        if (settings_.moments) entry.moments.resize(static_cast<size_t>(group));
        for (ReferenceMoments& moments : entry.moments) {
            moments.sum *= kept;
            moments.squares *= kept;
        }
    }
}

void ReferenceSignals::add_row(int r, std::vector<std::vector<double>> heads)
{
    if (r < rows_ - counted_) return;
    const int n = static_cast<int>(list_.size());
    const int visible = n - rows_ + r + 1;
    for (auto& row : heads) {
        if (settings_.renormalise) {
            double prefix = 0;
            for (int j = 0; j < std::min(visible, n - settings_.w); ++j)
                prefix += row[static_cast<size_t>(j)];
            for (int j = 0; j < visible && prefix > 0; ++j)
                row[static_cast<size_t>(j)] /= prefix;
        }
        if (!settings_.row_statistic.empty())
            row_statistics_ += row_statistic(settings_.row_statistic, {row.begin(), row.begin() + visible});
        for (int j = 0; j < visible && settings_.row_statistic == "sparsity"; ++j)
            if (std::abs(row[static_cast<size_t>(j)] * visible - 1) < 1e-5) rounding_margin_ += 1.0 / visible;
    }
    for (int j = 0; j < visible; ++j)
        list_[static_cast<size_t>(j)].count += 1;
    if (settings_.key_norms || settings_.key_similarities) return;
    if (settings_.low_counts) {
        add_low(heads, visible);
        return;
    }
    for (const auto& row : heads)
        for (int j = 0; j < visible; ++j)
            list_[static_cast<size_t>(j)].sum += row[static_cast<size_t>(j)] / group_;
    if (settings_.moments) add_moments(heads, visible);
}

void ReferenceSignals::add_low(const std::vector<std::vector<double>>& heads, int visible)
{
    for (int j = 0; j < visible; ++j) {
        double mean = 0;
        for (const auto& row : heads)
            mean += row[static_cast<size_t>(j)] / group_;
        if (mean < 1.0 / visible) list_[static_cast<size_t>(j)].sum += 1;
        if (std::abs(mean * visible - 1) < 1e-5) ++close_calls_[static_cast<size_t>(j)];
    }
}

void ReferenceSignals::add_moments(const std::vector<std::vector<double>>& heads, int visible)
{
    for (size_t g = 0; g < heads.size(); ++g) {
        for (size_t j = 0; j < static_cast<size_t>(visible); ++j) {
            const double a = heads[g][j];
            list_[j].moments[g].sum += a;
            list_[j].moments[g].squares += a * a;
            entropies_[j] -= a * std::log(a + 1e-10);
        }
    }
}

void ReferenceSignals::add(const Attention& attention)
{
    for (int r = 0; r < rows_; ++r) {
        std::vector<std::vector<double>> heads;
        for (const auto& rows : attention)
            heads.push_back(rows.at(static_cast<size_t>(r)));
        add_row(r, std::move(heads));
    }
}

void ReferenceSignals::set_key(size_t entry, const std::vector<double>& key)
{
    double squares = 0;
    for (const double x : key)
        squares += x * x;
    list_.at(entry).sum = std::sqrt(squares);
}

void ReferenceSignals::set_keys(const std::vector<std::vector<double>>& keys)
{
    const auto dot = [](const std::vector<double>& a, const std::vector<double>& b) {
        double sum = 0;
        for (size_t i = 0; i < a.size(); ++i)
            sum += a[i] * b[i];
        return sum;
    };
    std::vector<double> mean(keys.at(0).size(), 0.0);
    for (const auto& key : keys)
        for (size_t i = 0; i < key.size(); ++i)
            mean[i] += key[i] / std::sqrt(dot(key, key)) / static_cast<double>(keys.size());
    for (size_t j = 0; j < keys.size(); ++j)
        list_.at(j).sum = dot(keys[j], mean) / std::sqrt(dot(keys[j], keys[j]));
}

ReferenceObservation observation_of(const std::vector<ReferenceSignals>& heads, int rows, int group)
{
    ReferenceObservation out{.rows = rows};
    double sum = 0, margin = 0, counted = 0;
    for (const ReferenceSignals& head : heads) {
        sum += head.row_statistics();
        margin += head.rounding_margin();
        counted += static_cast<double>(head.counted_rows()) * group;
        out.entropies.push_back(head.entropies());
    }
    out.row_statistic = counted > 0 ? sum / counted : 0;
    out.rounding = counted > 0 ? margin / counted : 0;
    return out;
}

double row_statistic(const std::string& kind, std::vector<double> row)
{
    const auto v = static_cast<double>(row.size());
    double out = 0;
    if (kind == "entropy") {
        if (row.size() == 1) return 0;
        for (const double a : row)
            if (a > 0) out -= a * std::log(a) / std::log(v);
    } else if (kind == "gini") {
        std::sort(row.begin(), row.end());
        double sum = 0;
        for (size_t i = 0; i < row.size(); ++i) {
            out += (2 * static_cast<double>(i + 1) - v - 1) * row[i];
            sum += row[i];
        }
        out /= v * sum;
    } else {
        for (const double a : row)
            out += a >= 1 / v ? 1 / v : 0;
    }
    return out;
}

double variance_over_rows(const ReferenceMoments& moments, double count)
{
    if (count <= 1) return 0;
    return std::max(0.0, (moments.squares - moments.sum * moments.sum / count) / (count - 1));
}

double score_of(const ReferenceSettings& settings, const ReferenceEntry& entry)
{
    if (settings.score == "sum") return entry.sum;
    if (settings.score == "low") return -entry.sum;
    if (settings.score == "mean") return entry.sum / entry.count;
    double out = 0;
    for (const ReferenceMoments& moments : entry.moments)
        out += moments.sum / entry.count + settings.gamma * variance_over_rows(moments, entry.count);
    return out / static_cast<double>(entry.moments.size());
}

} // namespace palimpsest::tests
