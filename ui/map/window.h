// The arithmetic behind the map's horizontal axis: which tokens are shown, and in which column. No painter, no
// widget.
#pragma once

#include <cstdint>

#include "ui/engine/session_facts.h"

namespace palimpsest::ui {

// A stretch [first, last] of the stream, in tokens, never outside [0, length].
class MapWindow {
public:
    static constexpr double least_span = 8; // of a stream that has so many

    MapWindow() = default; // of an empty stream
    explicit MapWindow(uint64_t length);

    uint64_t length() const { return length_; }
    double first() const { return first_; }
    double last() const { return last_; }
    double span() const { return last_ - first_; }
    bool is_whole() const { return first_ <= 0 && last_ >= static_cast<double>(length_); }

    void set_length(uint64_t length);     // the whole stays the whole
    void zoom(double factor, double at);  // above 1: fewer tokens; `at` stays where it is, as far as the ends allow
    void pan(double tokens);              // towards the end
    void show(double first, double last); // widened to the least span
    void reveal(uint64_t token);          // the least pan that has all of it inside
    void reset() { show(0, static_cast<double>(length_)); }

private:
    uint64_t length_ = 0;
    double first_ = 0, last_ = 0;
};

// A window cut into columns of equal width. A column stands for the tokens [floor(its left edge), floor(its right
// edge)), and for the token at its left edge where it is narrower than one: so every column is about whole tokens.
class TokenColumns {
public:
    TokenColumns() = default;                         // none
    TokenColumns(const MapWindow& window, int count); // none of an empty stream

    int count() const { return count_; }
    double tokens_per_column() const { return span_ / count_; }
    StreamRange tokens(int column) const; // never empty, inside the stream
    int column_of(uint64_t token) const;  // the first that shows it; count() or -1 beside the window

private:
    uint64_t edge(int column) const;

    uint64_t length_ = 0;
    double first_ = 0, span_ = 0;
    int count_ = 0;
};

} // namespace palimpsest::ui
