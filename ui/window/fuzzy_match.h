// How well a few typed letters fit a text: all of them, in their order, whatever lies between.
#pragma once

#include <QString>
#include <optional>

namespace palimpsest::ui {

// Larger is better; none: it does not fit. Letters that follow each other and those that begin words count more;
// case and accents do not matter. An empty `typed` fits all alike. Costs letters typed times length of the text.
std::optional<int> fuzzy_match(const QString& typed, const QString& text);

} // namespace palimpsest::ui
