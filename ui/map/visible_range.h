// Arithmetic of the map's horizontal axis: the visible token range and its division into columns. Independent of
// painters and widgets.
#pragma once

#include <cstdint>

#include "ui/engine/session_facts.h"

namespace palimpsest::ui {

// The visible range [first, last] of the stream, in tokens; always within [0, length].
class VisibleRange {
public:
    static constexpr double least_span = 8; // fewest visible tokens, unless the stream is shorter

    VisibleRange() = default; // empty stream
    explicit VisibleRange(uint64_t length);

    uint64_t length() const { return length_; }
    double first() const { return first_; }
    double last() const { return last_; }
    double span() const { return last_ - first_; }
    bool is_whole() const { return first_ <= 0 && last_ >= static_cast<double>(length_); }

    void set_length(uint64_t length); // a fully visible stream stays fully visible
    // A factor above 1 shows fewer tokens. `at` keeps its position unless an end of the stream is reached.
    void zoom(double factor, double at);
    void pan(double tokens);              // positive: towards the end of the stream
    void show(double first, double last); // widened to at least least_span
    void reveal(uint64_t token);          // pans as little as needed to show the whole token
    void reset() { show(0, static_cast<double>(length_)); }

private:
    uint64_t length_ = 0;
    double first_ = 0, last_ = 0;
};

// A VisibleRange divided into columns of equal width. A column covers whole tokens: [floor(left edge), floor(right
// edge)), and at least the token at its left edge.
class TokenColumns {
public:
    TokenColumns() = default;                            // no columns
    TokenColumns(const VisibleRange& window, int count); // no columns if the stream is empty

    int count() const { return count_; }
    double tokens_per_column() const { return span_ / count_; }
    StreamRange tokens(int column) const; // never empty, within the stream
    int column_of(uint64_t token) const;  // first column that covers it; -1 before the range, count() after it

private:
    uint64_t edge(int column) const;

    uint64_t length_ = 0;
    double first_ = 0, span_ = 0;
    int count_ = 0;
};

} // namespace palimpsest::ui
