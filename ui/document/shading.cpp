#include "ui/document/shading.h"

#include <algorithm>
#include <cmath>

#include "ui/base/theme.h"

namespace palimpsest::ui {
namespace {

constexpr double least_contrast = 4.5;

std::pair<size_t, size_t> kept_range(const std::vector<uint32_t>& list, StreamRange range)
{
    const auto first = std::ranges::lower_bound(list, range.first);
    const auto last = std::lower_bound(first, list.end(), range.last);
    return {static_cast<size_t>(first - list.begin()), static_cast<size_t>(last - list.begin())};
}

// Returns `wanted`, or black or white if its contrast is too low: on any colour, one of the two has at least 4.58.
QColor ink_on(const QColor& background, const QColor& wanted)
{
    if (contrast(wanted, background) >= least_contrast) return wanted;
    return contrast(Qt::white, background) > contrast(Qt::black, background) ? Qt::white : Qt::black;
}

} // namespace

std::vector<uint16_t> kept_counts(const engine::RetentionMap& map, StreamRange range)
{
    std::vector<uint16_t> counts(range.last > range.first ? range.last - range.first : 0);
    for (const auto& list : map.tokens) {
        const auto [first, last] = kept_range(list, range);
        for (size_t i = first; i < last; ++i)
            ++counts[list[i] - range.first];
    }
    return counts;
}

std::vector<Holder> holders(const engine::RetentionMap& map, uint64_t token)
{
    std::vector<Holder> all;
    for (int32_t layer = 0; layer < map.layers; ++layer)
        for (int32_t head = 0; head < map.kv_heads; ++head) {
            const auto& list = map.of(layer, head);
            const auto [first, last] = kept_range(list, {token, token + 1});
            if (first < last)
                all.push_back({layer, head, static_cast<uint32_t>(first), static_cast<uint32_t>(list.size())});
        }
    return all;
}

double held_share(const engine::RetentionMap& map, StreamRange range)
{
    if (map.tokens.empty() || range.last <= range.first) return 0;
    size_t held = 0;
    for (const auto& list : map.tokens) {
        const auto [first, last] = kept_range(list, range);
        held += last - first;
    }
    return static_cast<double>(held) /
           (static_cast<double>(map.tokens.size()) * static_cast<double>(range.last - range.first));
}

ShadeColors default_shades(const QPalette& palette)
{
    const QColor base = palette.color(QPalette::Base), full = palette.color(QPalette::Highlight);
    return [base, full](double share) {
        const double strength = share <= 0 ? 0 : 0.12 + 0.48 * share;
        const auto between = [&](float a, float b) { return a + (b - a) * static_cast<float>(strength); };
        return QColor::fromRgbF(between(base.redF(), full.redF()), between(base.greenF(), full.greenF()),
                                between(base.blueF(), full.blueF()));
    };
}

ShadeTable::ShadeTable(const ShadeColors& colors, const QPalette& palette)
{
    for (int i = 0; i <= steps; ++i) {
        const QColor background = i == 0 ? palette.color(QPalette::Base) : colors(static_cast<double>(i) / steps);
        shades_[static_cast<size_t>(i)] = {background, ink_on(background, palette.color(QPalette::Text))};
    }
}

const Shade& ShadeTable::of(double share) const
{
    const double step = share <= 0 ? 0 : std::max(1.0, std::round(std::min(share, 1.0) * steps));
    return shades_[static_cast<size_t>(step)];
}

} // namespace palimpsest::ui
