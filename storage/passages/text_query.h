// Turns the text that a user types into a search field into conditions for a full-text index (FTS5).
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace palimpsest::storage {

// Every word is quoted, so nothing that is typed is an operator of FTS5.
struct TextQuery {
    // Together they bound the time and the memory of a search, whatever is typed. What exceeds them is left out.
    static constexpr size_t max_typed_bytes = 4096, max_terms = 32, max_term_bytes = 512;

    // FTS5 expressions that all terms match, and any of them. Empty without words.
    std::string all{}, any{};
    size_t terms = 0; // in `all`
    // Parts of a text that is written without spaces (Chinese, Japanese, Thai …): FTS5 takes such a text for one
    // long word, so these are looked for as they are. Each of them must be in the text.
    std::vector<std::string> literals{};

    bool is_empty() const { return all.empty() && literals.empty(); }
};

// A term is a word, or several words between quotation marks, which stand one behind another in the text; the
// closing mark may be missing. The last word, if nothing follows it, may be the beginning of a longer one. English
// function words are left out where other terms are left. Throws std::bad_alloc.
TextQuery text_query(std::string_view typed);

} // namespace palimpsest::storage
