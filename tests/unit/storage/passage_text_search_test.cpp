// The passages of all documents that contain some words: which, in which order, and where the words are in them.

#include <algorithm>
#include <map>
#include <random>
#include <set>

#include "storage/document_import.h"
#include "storage/library.h"
#include "storage/passages/passage_text_search.h"
#include "tests/support/catch.h"
#include "tests/support/project_folders.h"
#include "tests/unit/storage/scratch_database.h"

using namespace palimpsest;
using namespace palimpsest::storage;
using palimpsest::tests::ScratchDatabase;

namespace {

// Stores a document with one passage per entry: each has 100 words, a token per word.
class Paragraphs {
public:
    explicit Paragraphs(std::string heading = {}) : heading_(std::move(heading)) {}

    Paragraphs& add(const std::string& words)
    {
        size_t count = static_cast<size_t>(std::count(words.begin(), words.end(), ' ')) + 1;
        text_ += words;
        for (; count < 100; ++count)
            text_ += " filler";
        text_ += ".\n\n";
        return *this;
    }

    int64_t store(Database& database) const
    {
        Import import(database, "Book", "-", "model");
        std::vector<engine::EncodedToken> tokens;
        for (uint64_t i = 1; i < text_.size(); ++i)
            if (text_[i] == ' ' || (text_[i] == '\n' && text_[i - 1] != '\n'))
                tokens.push_back({.id = 1, .end = i});
        tokens.push_back({.id = 1, .end = text_.size()});
        import.add_text(text_);
        import.add_tokens(tokens);
        if (!heading_.empty()) import.add_section({heading_, 0, 0});
        return import.finish({});
    }

private:
    std::string heading_, text_;
};

TextHits search_typed(Database& database, const std::string& typed, const std::vector<int64_t>& documents,
                      size_t limit = 200)
{
    auto hits = search_passage_texts(database, text_query(typed), documents, limit);
    REQUIRE(hits.has_value());
    return std::move(*hits);
}

std::vector<std::string> found_words(const TextHit& hit)
{
    std::vector<std::string> words;
    for (const engine::TextRange& range : hit.found)
        words.emplace_back(range.in(hit.text));
    return words;
}

using Place = std::pair<int64_t, int64_t>; // document, index

std::set<Place> places_of(const TextHits& hits)
{
    std::set<Place> places;
    for (const TextHit& hit : hits.best)
        places.emplace(hit.passage.document, hit.passage.index);
    return places;
}

} // namespace

TEST_CASE("text search: the passages of all documents that have all words, best first, with the words in them")
{
    ScratchDatabase scratch;
    const int64_t first = Paragraphs()
                              .add("The keeper saw the ship")
                              .add("Nothing happened")
                              .add("The storm broke, and the keeper")
                              .store(*scratch);
    const int64_t second =
        Paragraphs().add("In a storm a keeper and a keeper and storms").add("A storm alone").store(*scratch);
    const TextHits hits = search_typed(*scratch, "keeper storm", {first, second});
    REQUIRE(hits.best.size() == 2);
    CHECK(hits.passages == 2);
    CHECK(hits.has_all_terms);
    CHECK(hits.unindexed == 0);
    CHECK(hits.best[0].passage.document == second); // it has them more often
    CHECK(found_words(hits.best[0]) == std::vector<std::string>{"storm", "keeper", "keeper", "storms"});
    CHECK(hits.best[1].passage.document == first);
    CHECK(hits.best[1].passage.index == 2);
    // The places are those in the document.
    const TextHit& hit = hits.best[1];
    const std::string whole = Library(*scratch).text(first, hit.passage.first_byte, hit.passage.end_byte);
    CHECK(hit.text == whole);
    CHECK(search_typed(*scratch, "keeper storm", {first}).best.size() == 1);
    CHECK(search_typed(*scratch, "keeper storm", {}).best.empty());
    CHECK(search_typed(*scratch, "", {first, second}).best.empty());
}

TEST_CASE("text search: where no passage has all words, those that have any")
{
    ScratchDatabase scratch;
    const int64_t document = Paragraphs().add("The keeper").add("The lantern").add("The sea").store(*scratch);
    const TextHits hits = search_typed(*scratch, "keeper lantern", {document});
    CHECK_FALSE(hits.has_all_terms);
    CHECK(hits.best.size() == 2);
    CHECK(search_typed(*scratch, "walrus", {document}).has_all_terms); // nothing was found, in part or as a whole
    CHECK(search_typed(*scratch, "walrus", {document}).best.empty());
}

TEST_CASE("text search: at most so many are returned, and all are counted")
{
    ScratchDatabase scratch;
    Paragraphs paragraphs;
    for (int i = 0; i < 50; ++i)
        paragraphs.add("keeper");
    const int64_t document = paragraphs.store(*scratch);
    const TextHits hits = search_typed(*scratch, "keeper", {document}, 7);
    CHECK(hits.passages == 50);
    REQUIRE(hits.best.size() == 7);
    for (size_t i = 0; i < hits.best.size(); ++i)
        CHECK(hits.best[i].passage.index == static_cast<int64_t>(i)); // equally good: in the order of the document
    CHECK(search_typed(*scratch, "keeper", {document}, 0).best.empty());
}

TEST_CASE("text search: headings are not searched")
{
    ScratchDatabase scratch;
    const int64_t document = Paragraphs("Departure").add("The keeper").add("The sea").store(*scratch);
    CHECK(search_typed(*scratch, "departure", {document}).best.empty());
}

TEST_CASE("text search: it finds what reading every passage finds")
{
    const std::vector<std::string> vocabulary{"amber", "birch", "cobalt", "dune",   "ember", "flint",
                                              "gorse", "heron", "indigo", "jasper", "kelp",  "larch"};
    std::mt19937 random(11);
    ScratchDatabase scratch;
    std::map<Place, std::set<std::string>> words_of; // of each passage
    std::vector<int64_t> documents;
    for (int book = 0; book < 4; ++book) {
        Paragraphs paragraphs;
        std::vector<std::set<std::string>> all;
        for (int i = 0; i < 30; ++i) {
            std::string text = "x";
            all.emplace_back();
            for (int n = 0; n < 4; ++n) {
                const std::string& word = vocabulary[random() % vocabulary.size()];
                text += ' ' + word;
                all.back().insert(word);
            }
            paragraphs.add(text);
        }
        documents.push_back(paragraphs.store(*scratch));
        REQUIRE(PassageIndex(*scratch).all(documents.back()).size() == all.size());
        for (size_t i = 0; i < all.size(); ++i)
            words_of[{documents.back(), static_cast<int64_t>(i)}] = all[i];
    }
    for (int round = 0; round < 200; ++round) {
        std::set<std::string> wanted;
        std::string typed;
        for (uint32_t n = 1 + random() % 3; n > 0; --n) {
            const std::string& word = vocabulary[random() % vocabulary.size()];
            wanted.insert(word);
            typed += word + ' ';
        }
        CAPTURE(typed);
        const auto count_in = [&](const std::set<std::string>& words) {
            return std::count_if(wanted.begin(), wanted.end(),
                                 [&](const auto& word) { return words.contains(word); });
        };
        std::set<Place> with_all, with_any;
        for (const auto& [place, words] : words_of) {
            if (count_in(words) == std::ssize(wanted)) with_all.insert(place);
            if (count_in(words) > 0) with_any.insert(place);
        }
        const TextHits hits = search_typed(*scratch, typed, documents);
        CHECK(hits.has_all_terms == (wanted.size() == 1 || !with_all.empty()));
        CHECK(places_of(hits) == (hits.has_all_terms ? with_all : with_any));
        CHECK(hits.passages == hits.best.size());
        for (const TextHit& hit : hits.best) {
            const auto found = found_words(hit);
            const std::set<std::string> words(found.begin(), found.end());
            CHECK(std::ssize(words) == count_in(words_of.at({hit.passage.document, hit.passage.index})));
        }
    }
}

TEST_CASE("text search: a part of a text without spaces is found, alone and beside words")
{
    ScratchDatabase scratch;
    const int64_t document =
        Paragraphs().add("古い灯台守の話").add("The keeper of 灯台").add("The keeper").store(*scratch);
    CHECK(places_of(search_typed(*scratch, "灯台", {document})) == std::set<Place>{{document, 0}, {document, 1}});
    CHECK(places_of(search_typed(*scratch, "灯台 keeper", {document})) == std::set<Place>{{document, 1}});
    const TextHits hits = search_typed(*scratch, "灯台", {document});
    CHECK(found_words(hits.best[0]) == std::vector<std::string>{"灯台"});
}

TEST_CASE("text search: documents that are not indexed are counted")
{
    ScratchDatabase scratch;
    const int64_t first = Paragraphs().add("keeper").store(*scratch);
    const int64_t second = Paragraphs().add("keeper").store(*scratch);
    const std::string of_second = std::to_string(second);
    scratch->sql().exec("DELETE FROM indexed_documents WHERE document = " + of_second);
    const TextHits hits = search_typed(*scratch, "keeper", {first, second});
    CHECK(hits.unindexed == 1);
    CHECK(places_of(hits) == std::set<Place>{{first, 0}}); // an index that is not complete is not searched
}

TEST_CASE("text search: the documents of an older database are not indexed")
{
    namespace fs = std::filesystem;
    ScratchDatabase scratch;
    scratch.clear();
    fs::copy_file(tests::source_file("tests/fixtures/databases/schema-1.db"), scratch.file());
    fs::permissions(scratch.file(), fs::perms::owner_read | fs::perms::owner_write);
    Database reader(scratch.file(), Database::Access::Read);
    const TextHits hits = search_typed(reader, "keeper", {Library(reader).list().at(0).id});
    CHECK(hits.unindexed == 1);
    CHECK(hits.best.empty());
}

TEST_CASE("text search: it ends when it is not wanted any more, and leaves the connection usable")
{
    ScratchDatabase scratch;
    Paragraphs paragraphs;
    for (int i = 0; i < 3000; ++i)
        paragraphs.add("keeper 灯台");
    const int64_t document = paragraphs.store(*scratch);
    const std::vector<int64_t> documents{document};
    for (const char* typed : {"keeper ", "灯台"}) {
        int asked = 0;
        CHECK_FALSE(search_passage_texts(*scratch, text_query(typed), documents, 10, [&] { return ++asked < 2; }));
        CHECK(asked == 2);
        CHECK(search_typed(*scratch, typed, documents).passages == 3000);
    }
}
