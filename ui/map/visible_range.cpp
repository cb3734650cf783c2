#include "ui/map/visible_range.h"

#include <algorithm>
#include <cmath>

namespace palimpsest::ui {

VisibleRange::VisibleRange(uint64_t length) : length_(length), last_(static_cast<double>(length)) {}

void VisibleRange::set_length(uint64_t length)
{
    const bool whole = is_whole();
    length_ = length;
    if (whole)
        reset();
    else
        show(first_, last_);
}

void VisibleRange::zoom(double factor, double at)
{
    const double wanted = std::clamp(span() / factor, std::min(least_span, static_cast<double>(length_)),
                                     static_cast<double>(length_));
    const double left = span() > 0 ? (at - first_) / span() : 0;
    const double first = at - left * wanted;
    show(first, first + wanted);
}

void VisibleRange::pan(double tokens)
{
    show(first_ + tokens, last_ + tokens);
}

void VisibleRange::show(double first, double last)
{
    const auto length = static_cast<double>(length_);
    const double width = std::clamp(last - first, std::min(least_span, length), length);
    first_ = std::clamp(first, 0.0, length - width);
    last_ = std::min(first_ + width, length);
}

void VisibleRange::reveal(uint64_t token)
{
    const auto left = static_cast<double>(token);
    if (left < first_)
        pan(left - first_);
    else if (left + 1 > last_)
        pan(left + 1 - last_);
}

TokenColumns::TokenColumns(const VisibleRange& window, int count)
    : length_(window.length()), first_(window.first()), span_(window.span()),
      count_(window.length() > 0 ? std::max(count, 0) : 0)
{
}

uint64_t TokenColumns::edge(int column) const
{
    return static_cast<uint64_t>(std::floor(first_ + span_ * column / count_));
}

StreamRange TokenColumns::tokens(int column) const
{
    const uint64_t first = std::min(edge(column), length_ - 1);
    return {first, std::clamp(edge(column + 1), first + 1, length_)};
}

int TokenColumns::column_of(uint64_t token) const
{
    if (count_ == 0) return -1;
    const double left = std::ceil((static_cast<double>(token) - first_) * count_ / span_);
    if (token < tokens(0).first) return -1;
    if (token >= tokens(count_ - 1).last) return count_;
    auto column = static_cast<int>(std::clamp(left, 0.0, count_ - 1.0));
    while (column > 0 && tokens(column - 1).last > token)
        --column;
    while (tokens(column).last <= token)
        ++column;
    return column;
}

} // namespace palimpsest::ui
