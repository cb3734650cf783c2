// The words of a question that a full-text search looks for.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace palimpsest::storage {

struct WordQuery {
    static constexpr size_t max_words = 64; // bounds the time of a search, whatever is asked

    // Content words, without repetition. Function words of English are left out: nearly every passage has them.
    std::vector<std::string> words{};
    // Names of several words ("Mount Verdant"), which also count where they stand together.
    std::vector<std::string> names{};

    // For FTS5's MATCH: any of them. Every word is quoted, so nothing in a question is an operator. Empty without
    // words.
    std::string expression() const;
};

WordQuery word_query(std::string_view question);

} // namespace palimpsest::storage
