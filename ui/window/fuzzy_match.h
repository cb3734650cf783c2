// Fuzzy matching: all typed letters must occur in the text in their order, with any gaps between them.
#pragma once

#include <QString>
#include <optional>

namespace palimpsest::ui {

// Returns a score, larger is better; nullopt: no match. Consecutive letters and letters at the beginning of a word
// score higher; case, accents and spaces in `typed` are ignored. An empty `typed` matches every text with score 0.
// Cost: O(typed.size() * text.size()).
std::optional<int> fuzzy_match(const QString& typed, const QString& text);

} // namespace palimpsest::ui
