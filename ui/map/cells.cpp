#include "ui/map/cells.h"

#include <algorithm>

namespace palimpsest::ui {
namespace {

using List = std::vector<uint32_t>;
using Token = List::const_iterator;

// Column edges, for columns of which no two share a token.
struct Bins {
    std::vector<uint64_t> edges; // [count + 1], ascending, at most tokens_seen
    double first = 0;
    double per_token = 0; // columns per token

    size_t count() const { return edges.size() - 1; }
};

// Returns the first element of [from, end) that is not below `token`, by exponential search from `guess`. A good
// guess makes it fast: add_by_edge() assumes that a column has as many tokens as the one before.
Token seek(Token from, Token guess, Token end, uint64_t token)
{
    std::ptrdiff_t step = 1;
    if (guess != end && *guess < token) {
        from = guess + 1;
        while (end - guess > step && guess[step] < token) {
            from = guess + step + 1;
            step *= 2;
        }
        return std::lower_bound(from, end - guess > step ? guess + step : end, token);
    }
    while (guess - from >= step && guess[-step] >= token) {
        guess -= step;
        step *= 2;
    }
    return std::lower_bound(guess - from >= step ? guess - step : from, guess, token);
}

// For long lists: searches for each edge in the list.
void add_by_edge(Token from, Token end, const Bins& bins, uint32_t* kept)
{
    std::ptrdiff_t before = 1;
    for (size_t bin = 0; bin < bins.count() && from != end; ++bin) {
        const Token next = seek(from, from + std::min(before, end - from), end, bins.edges[bin + 1]);
        before = next - from;
        kept[bin] += static_cast<uint32_t>(before);
        from = next;
    }
}

// For short lists: computes the column of each token by a division, then corrects rounding errors with the edges.
void add_by_token(Token from, Token end, const Bins& bins, uint32_t* kept)
{
    const size_t last = bins.count() - 1;
    const uint64_t* const edges = bins.edges.data();
    for (; from != end; ++from) {
        const uint32_t token = *from;
        size_t bin = std::min(last, static_cast<size_t>(std::max(0.0, (token - bins.first) * bins.per_token)));
        while (token < edges[bin])
            --bin;
        while (token >= edges[bin + 1])
            ++bin;
        ++kept[bin];
    }
}

void add_list(const List& list, const Bins& bins, uint32_t* kept)
{
    const auto from = std::lower_bound(list.begin(), list.end(), bins.edges.front());
    const auto end = std::lower_bound(from, list.end(), bins.edges.back());
    // The search for one edge costs about as much as counting this many tokens.
    constexpr std::ptrdiff_t tokens_per_lookup = 8;
    if (end - from > static_cast<std::ptrdiff_t>(bins.count()) * tokens_per_lookup)
        add_by_edge(from, end, bins, kept);
    else
        add_by_token(from, end, bins, kept);
}

uint32_t tokens_read(const StreamRange& range, uint64_t seen)
{
    return static_cast<uint32_t>(std::clamp(seen, range.first, range.last) - range.first);
}

// For wide columns, of which no two share a token.
void count_wide(const engine::RetentionMap& map, std::span<const MapRow> rows, const TokenColumns& columns,
                MapCells& cells)
{
    Bins bins{.edges = {}, .first = static_cast<double>(columns.tokens(0).first), .per_token = 0};
    bins.per_token = 1 / columns.tokens_per_column();
    for (int column = 0; column < columns.count(); ++column)
        bins.edges.push_back(std::min(columns.tokens(column).first, map.tokens_seen));
    bins.edges.push_back(std::min(columns.tokens(columns.count() - 1).last, map.tokens_seen));
    uint32_t* kept = cells.kept.data();
    for (const MapRow& row : rows) {
        for_each_list(map, row, [&](const List& list) { add_list(list, bins, kept); });
        kept += cells.columns;
    }
}

// For narrow columns, of which several may share a token: counts the heads that keep each token, and takes
// differences of prefix sums.
void count_narrow(const engine::RetentionMap& map, std::span<const MapRow> rows, const TokenColumns& columns,
                  MapCells& cells)
{
    const StreamRange shown = {columns.tokens(0).first, columns.tokens(columns.count() - 1).last};
    std::vector<uint32_t> sums(shown.last - shown.first + 1);
    uint32_t* kept = cells.kept.data();
    for (const MapRow& row : rows) {
        std::fill(sums.begin(), sums.end(), 0);
        for_each_list(map, row, [&](const List& list) {
            auto token = std::lower_bound(list.begin(), list.end(), shown.first);
            for (; token != list.end() && *token < shown.last; ++token)
                ++sums[*token - shown.first + 1];
        });
        for (size_t i = 1; i < sums.size(); ++i)
            sums[i] += sums[i - 1];
        for (int column = 0; column < columns.count(); ++column) {
            const StreamRange range = columns.tokens(column);
            *kept++ = sums[range.last - shown.first] - sums[range.first - shown.first];
        }
    }
}

} // namespace

double MapCells::share_at(int row, int column) const
{
    const uint64_t pairs = pairs_at(row, column);
    return pairs == 0 ? 0 : static_cast<double>(kept_at(row, column)) / static_cast<double>(pairs);
}

MapCells count_cells(const engine::RetentionMap& map, std::span<const MapRow> rows, const TokenColumns& columns)
{
    MapCells cells{
        .rows = static_cast<int>(rows.size()), .columns = columns.count(), .kept = {}, .read = {}, .row_lists = {}};
    cells.kept.assign(rows.size() * static_cast<size_t>(columns.count()), 0);
    for (const MapRow& row : rows)
        cells.row_lists.push_back(static_cast<uint32_t>(row.is_layer() ? map.kv_heads : 1));
    for (int column = 0; column < columns.count(); ++column)
        cells.read.push_back(tokens_read(columns.tokens(column), map.tokens_seen));
    if (columns.count() == 0 || map.tokens_seen == 0) return cells;
    // With at least two tokens per column, no two columns share a token.
    if (columns.tokens_per_column() >= 2)
        count_wide(map, rows, columns, cells);
    else
        count_narrow(map, rows, columns, cells);
    return cells;
}

} // namespace palimpsest::ui
