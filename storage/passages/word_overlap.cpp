#include "storage/passages/word_overlap.h"

#include <SQLiteCpp/Database.h>
#include <SQLiteCpp/Statement.h>
#include <algorithm>
#include <cmath>

namespace palimpsest::storage {

std::vector<double> word_overlap(std::span<const std::string> words, std::span<const std::string_view> sentences)
try {
    SQLite::Database db(":memory:", SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE);
    db.exec("CREATE VIRTUAL TABLE sentences USING fts5(text, tokenize = 'porter unicode61 remove_diacritics 2')");
    SQLite::Statement insert(db, "INSERT INTO sentences(rowid, text) VALUES(?, ?)");
    for (size_t i = 0; i < sentences.size(); ++i) {
        insert.bind(1, static_cast<int64_t>(i));
        insert.bind(2, std::string(sentences[i]));
        insert.exec();
        insert.reset();
    }
    std::vector<double> overlap(sentences.size());
    SQLite::Statement find(db, "SELECT rowid FROM sentences WHERE sentences MATCH ?");
    const auto all = static_cast<double>(sentences.size());
    for (const std::string& word : words) {
        std::vector<size_t> with;
        find.bind(1, '"' + word + '"');
        while (find.executeStep())
            with.push_back(static_cast<size_t>(find.getColumn(0).getInt64()));
        find.reset();
        const auto n = static_cast<double>(with.size());
        for (const size_t i : with)
            overlap[i] += std::log(1 + (all - n + 0.5) / (n + 0.5));
    }
    const double most = overlap.empty() ? 0 : *std::max_element(overlap.begin(), overlap.end());
    for (double& one : overlap)
        if (most > 0) one /= most;
    return overlap;
} catch (const SQLite::Exception&) { // out of memory: no sentence is better than another
    return std::vector<double>(sentences.size());
}

} // namespace palimpsest::storage
