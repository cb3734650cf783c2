// The words of a question that a full-text search looks for.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace palimpsest::storage {

struct WordQuery {
    // Together they bound the time of a search, whatever is asked.
    static constexpr size_t max_words = 64, max_names = 16, max_name_words = 8;

    // Content words in small letters, without repetition. Function words of English are left out: nearly every
    // passage has them. Text that is written without spaces, such as Chinese, is one word from mark to mark
    // (storage/passages/unspaced_text.h finds it).
    std::vector<std::string> words{};
    // Names of several words ("Mount Verdant"), which also count where they stand together.
    std::vector<std::string> names{};

    // For FTS5's MATCH: any of them. Every word is quoted, so nothing in a question is an operator. Empty without
    // words.
    std::string expression() const;
};

bool is_function_word(std::string_view word); // of English; in small letters

WordQuery word_query(std::string_view question);

} // namespace palimpsest::storage
