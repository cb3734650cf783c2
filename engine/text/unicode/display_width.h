// The columns that text takes on a terminal.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace palimpsest::engine {

// The first grapheme cluster of a text (UAX #29) and the columns that it takes: two for East Asian wide characters
// and for emoji, however many code points they are joined from; none for a combining mark alone.
struct GraphemeCluster {
    size_t bytes = 0;
    size_t columns = 0;
};

// REQUIRES: text that is not empty. Every invalid byte is a cluster of one column.
GraphemeCluster first_cluster(std::string_view text);

size_t display_width(std::string_view text); // columns

// The longest beginning of whole clusters that takes at most this many columns.
std::string_view within_width(std::string_view text, size_t columns);

// The text with spaces behind it up to this many columns; unchanged if it takes more.
std::string padded(std::string_view text, size_t columns);

} // namespace palimpsest::engine
