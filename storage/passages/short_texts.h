// A full-text index of short texts, in memory: it separates words and stems them as the index of passages does.
#pragma once

#include <SQLiteCpp/Database.h>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/text/sentences.h"

namespace palimpsest::storage {

// Takes about 0.3 ms to make, and 0.1 ms per text of 1 KB. Throws SQLite::Exception without memory.
class ShortTexts {
public:
    enum class Words {
        Stems, // Porter stems without diacritics, as in the index of passages: "lights" and "lighting" are one word
        Whole  // only without capitals and diacritics
    };
    explicit ShortTexts(Words words = Words::Stems);

    void add(std::string_view text); // the first text has index 0

    // For each text its words as they are compared, in order.
    std::vector<std::vector<std::string>> words();

    struct Match {
        size_t text = 0;                        // index
        std::vector<engine::TextRange> found{}; // bytes of the text; ascending and apart
    };
    // The texts that match an FTS5 expression, by index. Throws SQLite::Exception for a malformed expression.
    std::vector<Match> match(const std::string& expression);

private:
    SQLite::Database db_;
    int64_t texts_ = 0;
};

} // namespace palimpsest::storage
