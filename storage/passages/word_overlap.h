// How much of a question's words each of some sentences has.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace palimpsest::storage {

// For each sentence, the sum over these words that it contains of their rarity, ln(1 + (N - n + 0.5) / (n + 0.5))
// for n of N sentences (the inverse document frequency of bm25), divided by the largest of all sentences; 0 if none
// has any. Words are compared as in the index of passages (SQLite's FTS5: Porter stems, no diacritics).
std::vector<double> word_overlap(std::span<const std::string> words, std::span<const std::string_view> sentences);

} // namespace palimpsest::storage
