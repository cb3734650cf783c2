#include "ui/map/place.h"

#include <QCoreApplication>
#include <QLocale>
#include <algorithm>
#include <cmath>

#include "ui/base/quantity.h"
#include "ui/map/cells.h"

namespace palimpsest::ui {
namespace {

using List = std::vector<uint32_t>;

struct PlaceWords {
    Q_DECLARE_TR_FUNCTIONS(palimpsest::ui::MapCell)
};

std::pair<uint64_t, std::optional<uint32_t>> kept_in(const List& list, const StreamRange& tokens)
{
    const auto from = std::lower_bound(list.begin(), list.end(), tokens.first);
    const auto end = std::lower_bound(from, list.end(), tokens.last);
    if (from == end) return {0, std::nullopt};
    return {static_cast<uint64_t>(end - from), *from};
}

bool holds(const List& list, uint64_t token)
{
    return std::binary_search(list.begin(), list.end(), token);
}

} // namespace

CellCount count_of(const engine::RetentionMap& map, const MapCell& place)
{
    CellCount count;
    const uint64_t read = std::clamp(map.tokens_seen, place.tokens.first, place.tokens.last) - place.tokens.first;
    for_each_list(map, place.row, [&](const List& list) {
        count.kept += kept_in(list, place.tokens).first;
        count.pairs += read;
    });
    return count;
}

CellFacts facts_of(const engine::RetentionMap& map, const MapCell& place)
{
    CellFacts facts{.count = count_of(map, place), .token = place.tokens.first, .rank = {}};
    const auto [layer, head] = place.row;
    std::optional<uint32_t> first_kept;
    for_each_list(map, place.row, [&](const List& list) {
        const auto token = kept_in(list, place.tokens).second;
        if (token && (!first_kept || *token < *first_kept)) first_kept = token;
    });
    if (first_kept) facts.token = *first_kept;
    facts.lists = map.layers * map.kv_heads;
    for (int32_t l = 0; l < map.layers; ++l)
        for (int32_t h = 0; h < map.kv_heads; ++h) {
            if (!holds(map.of(l, h), facts.token)) continue;
            ++facts.held_in_all;
            facts.held_in_layer += l == layer;
        }
    if (head >= 0) {
        const List& list = map.of(layer, head);
        facts.list_length = list.size();
        const auto at = std::lower_bound(list.begin(), list.end(), facts.token);
        if (at != list.end() && *at == facts.token) facts.rank = static_cast<uint64_t>(at - list.begin());
    }
    return facts;
}

QString row_name(const MapRow& row)
{
    if (row.is_layer()) return PlaceWords::tr("Layer %1").arg(QLocale().toString(row.layer));
    return PlaceWords::tr("Layer %1, head %2").arg(QLocale().toString(row.layer), QLocale().toString(row.head));
}

QString percentage(double share)
{
    const double percent = share * 100;
    const double from_an_end = std::min(percent, 100 - percent);
    // Enough digits to show the distance to 0 % or 100 % with two significant digits.
    const int digits =
        from_an_end <= 0 ? 0 : std::clamp(1 - static_cast<int>(std::floor(std::log10(from_an_end))), 1, 9);
    return PlaceWords::tr("%1 %").arg(
        QLocale().toString(percent, 'f', percent == std::floor(percent) ? 0 : digits));
}

QString cell_sentence(const MapCell& place, const CellFacts& facts, uint64_t seen)
{
    const bool single = place.tokens.last - place.tokens.first == 1;
    const QString tokens = single ? PlaceWords::tr("token %1").arg(count_text(place.tokens.first))
                                  : PlaceWords::tr("tokens %1 to %2")
                                        .arg(count_text(place.tokens.first), count_text(place.tokens.last - 1));
    const QString where = PlaceWords::tr("%1, %2").arg(row_name(place.row), tokens);
    if (place.tokens.first >= seen) return PlaceWords::tr("%1: not read yet").arg(where);
    if (facts.count.kept == 0) return PlaceWords::tr("%1: none kept").arg(where);
    return PlaceWords::tr("%1: %2 of %3 kept (%4)")
        .arg(where, count_text(facts.count.kept), count_text(facts.count.pairs), percentage(facts.count.share()));
}

QString token_sentence(const MapCell& place, const CellFacts& facts)
{
    const QString all = PlaceWords::tr("Token %1 is held by %2 of %3 heads in all")
                            .arg(count_text(facts.token), count_text(static_cast<uint64_t>(facts.held_in_all)),
                                 count_text(static_cast<uint64_t>(facts.lists)));
    const QString layer =
        PlaceWords::tr("%1, by %2 of layer %3")
            .arg(all, count_text(static_cast<uint64_t>(facts.held_in_layer)), QLocale().toString(place.row.layer));
    if (!facts.rank) return PlaceWords::tr("%1.").arg(layer);
    return PlaceWords::tr("%1; here it is number %2 of %3, the oldest first.")
        .arg(layer, count_text(*facts.rank + 1), count_text(facts.list_length));
}

} // namespace palimpsest::ui
