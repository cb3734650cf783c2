#include "app/palimpsest/retention_picture.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "kernels/base/byte_quantity.h"

namespace palimpsest::app {
namespace {

// Share of the stream indices [first, last) that the list contains.
double kept_share(const std::vector<uint32_t>& list, uint64_t first, uint64_t last)
{
    const auto begin = std::lower_bound(list.begin(), list.end(), first);
    const auto end = std::lower_bound(begin, list.end(), last);
    return static_cast<double>(end - begin) / static_cast<double>(last - first);
}

const char* block(double share)
{
    static constexpr std::array<const char*, 9> blocks = {" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
    if (share <= 0) return blocks[0];
    return blocks[std::max<size_t>(1, static_cast<size_t>(std::lround(share * 8)))];
}

struct Row {
    std::string label;
    int32_t layer, head; // head -1: average of all heads
};

std::vector<Row> rows_of(const engine::RetentionMap& map, const engine::MapFilter& filter)
{
    std::vector<Row> rows;
    for (int32_t l = map.layers - 1; l >= 0; --l) {
        if (filter.layer && *filter.layer != l) continue;
        if (!filter.layer && !filter.head) {
            rows.push_back({std::to_string(l), l, -1});
            continue;
        }
        for (int32_t h = map.kv_heads - 1; h >= 0; --h)
            if (filter.shows(l, h)) rows.push_back({std::to_string(l) + "." + std::to_string(h), l, h});
    }
    return rows;
}

} // namespace

std::string unicode_picture(const engine::RetentionMap& map, const engine::MapFilter& filter, int32_t columns,
                            const CommandWording& wording)
{
    const std::vector<Row> rows = rows_of(map, filter);
    size_t label_width = 5;
    for (const Row& row : rows)
        label_width = std::max(label_width, row.label.size());
    const auto cells = std::min<uint64_t>(
        map.tokens_seen,
        static_cast<uint64_t>(std::max<int64_t>(8, columns - static_cast<int64_t>(label_width) - 2)));

    std::string out = wording.of(Text("layer\n"));
    for (const Row& row : rows) {
        out += std::string(label_width - row.label.size(), ' ') + row.label + " │";
        for (uint64_t cell = 0; cell < cells; ++cell) {
            const uint64_t first = cell * map.tokens_seen / cells;
            const uint64_t last = (cell + 1) * map.tokens_seen / cells;
            double share = 0;
            const int32_t heads = row.head < 0 ? map.kv_heads : 1;
            for (int32_t h = 0; h < heads; ++h)
                share += kept_share(map.of(row.layer, row.head < 0 ? h : row.head), first, last) / heads;
            out += block(share);
        }
        out += '\n';
    }
    out += std::string(label_width + 1, ' ') + "└";
    for (uint64_t cell = 0; cell < cells; ++cell)
        out += "─";
    const std::string last_token = format_count(map.tokens_seen);
    out += "\n" + std::string(label_width + 2, ' ') + "0";
    if (cells > last_token.size() + 1) out += std::string(cells - last_token.size() - 1, ' ') + last_token;
    return out + "\n" + std::string(label_width + 2, ' ') +
           wording.of(Text("token; a block's height is the share kept: ▁ few, █ all\n"));
}

} // namespace palimpsest::app
