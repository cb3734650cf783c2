// The classes of a style sheet that number lists with letters or Roman numbers.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "app/reader/list_numbers.h"

namespace palimpsest::reader {

// The style that "list-style-type: lower-alpha" and the like name; nothing for numbers and bullets.
std::optional<NumberStyle> letter_style_in(std::string_view declarations);

class CssListStyles {
public:
    // Rules for a class replace those that were read before. Other rules are passed over, whatever they hold.
    void read(std::string_view css);
    // `classes`: the value of a class attribute.
    std::optional<NumberStyle> of(std::string_view classes) const;

private:
    void read_rule(std::string_view selectors, std::string_view declarations);

    std::unordered_map<std::string, NumberStyle> by_class_;
};

} // namespace palimpsest::reader
