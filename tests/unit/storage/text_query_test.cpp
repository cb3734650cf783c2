// What is typed into a search field, as a full-text query: words, phrases, unfinished words, hostile input.

#include <random>

#include "storage/passages/passage_text_search.h"
#include "storage/passages/text_query.h"
#include "tests/support/catch.h"

using namespace palimpsest;
using namespace palimpsest::storage;

namespace {

// The parts of `text` that `typed` finds, in brackets; empty if it does not find all that was typed.
std::string marked(const std::string& typed, const std::string& text)
{
    const std::vector<std::string> texts{text};
    const auto found = found_in(text_query(typed), texts);
    std::string out;
    size_t at = 0;
    for (const engine::TextRange& range : found.at(0)) {
        REQUIRE((range.begin >= at && range.begin < range.end && range.end <= text.size()));
        out += text.substr(at, range.begin - at) + '[' + text.substr(range.begin, range.end - range.begin) + ']';
        at = range.end;
    }
    return found.at(0).empty() ? "" : out + text.substr(at);
}

} // namespace

TEST_CASE("typed text: all words must be there, in any order and any form")
{
    const std::string text = "Elias Verrin trimmed the wick. Its flame lights the Ümlaut.";
    CHECK(marked("trim wicks ", text) == "Elias Verrin [trimmed] the [wick]. Its flame lights the Ümlaut.");
    CHECK(marked("LIGHT umlaut verrin ", text) ==
          "Elias [Verrin] trimmed the wick. Its flame [lights] the [Ümlaut].");
    CHECK(marked("wick candle ", text).empty());
    CHECK(marked("wi ", text).empty()); // the space ends the word
    CHECK(marked("", text).empty());
    CHECK(marked("  \t ", text).empty());
}

TEST_CASE("typed text: what stands between quotation marks is kept together")
{
    const std::string text = "The first lamp and the second lantern; the lantern was first.";
    CHECK(marked("\"second lantern\"", text) == "The first lamp and the [second lantern]; the lantern was first.");
    CHECK(marked("\"first lantern\"", text).empty());
    CHECK(marked("„lantern was“ lamp ", text) ==
          "The first [lamp] and the second lantern; the [lantern was] first.");
    CHECK(marked("\"the second lan", text) == "The first lamp and [the second lantern]; the lantern was first.");
    CHECK(marked("\"the second lan\"", text).empty());
    CHECK(marked("\"the second lan ", text).empty());
    CHECK(marked("the-second", text) == "The first lamp and [the second] lantern; the lantern was first.");
}

TEST_CASE("typed text: the last word may be the beginning of one")
{
    CHECK(marked("li", "A lighthouse, lit.") == "A [lighthouse], [lit].");
    CHECK(marked("house li", "A lighthouse, lit.").empty());
    CHECK(marked("l", "A lighthouse, lit.").empty()); // a single letter begins too many words
    CHECK(marked("5", "Chapter 5, page 57.") == "Chapter [5], page 57.");
    CHECK(marked("caring", "He cared for a carpet and a caring car.") ==
          "He [cared] for a carpet and a [caring] car.");
    CHECK(marked("mus", "The museum has music, mud and muses.") == "The [museum] has [music], mud and [muses].");
    CHECK(marked("ope", "It opens the opera, an option.") == "It [opens] the [opera], an option.");
    CHECK(marked("hous", "His house, a housekeeper.") == "His [house], a [housekeeper].");
    CHECK(marked("house", "His house, a housekeeper.") == "His [house], a [housekeeper].");
}

TEST_CASE("typed text: a word is found at every letter of it")
{
    for (const std::string word :
         {"trimmed",     "running",    "persons",        "glasses",   "museum",      "ceases",
          "useful",      "opening",    "generalization", "happiness", "lighthouses", "stories",
          "agreement",   "relational", "hopefulness",    "carefully", "operators",   "Über",
          "Leuchttürme", "activities", "dropped",        "beginnings"}) {
        for (size_t letters = 3; letters <= word.size(); ++letters) {
            CAPTURE(word, letters);
            if (letters < word.size() && (word[letters] & 0xC0) == 0x80) continue; // within a letter
            CHECK(marked(word.substr(0, letters), "x " + word + " y") == "x [" + word + "] y");
        }
    }
}

TEST_CASE("typed text: function words count only if nothing else is typed, or in a phrase")
{
    CHECK(marked("who was the keeper of it", "A keeper.") == "A [keeper].");
    CHECK(marked("keeper the", "A keeper.") == "A [keeper].");
    CHECK(marked("to the ", "He went to the sea.") == "He went [to] [the] sea.");
    CHECK(marked("the", "They went to the sea.") == "They went to [the] sea."); // not the beginning of a word
    CHECK(marked("\"to the\" sea", "He went to the sea.") == "He went [to the] [sea].");
    CHECK(marked("\"to a\" sea", "He went to the sea.").empty());
}

TEST_CASE("typed text: in texts without spaces, a part of the text is found")
{
    CHECK(marked("灯台", "古い灯台守の話。") == "古い[灯台]守の話。");
    CHECK(marked("灯台 keeper", "古い灯台守の話。 The keeper's story.") ==
          "古い[灯台]守の話。 The [keeper]'s story.");
    CHECK(marked("灯台 keeper", "The keeper's story.").empty());
    CHECK(marked("灯台 海", "古い灯台守の話。").empty());
    CHECK(marked("ประภาคาร", "คนเฝ้าประภาคารเก่า") == "คนเฝ้า[ประภาคาร]เก่า");
}

TEST_CASE("typed text: nothing is an operator, and marks alone are nothing")
{
    const std::string text = "The keeper OR the storm, NEAR the light; text: a column.";
    CHECK(marked("keeper AND storm ", text) == "The [keeper] OR the [storm], NEAR the light; text: a column.");
    CHECK(marked("keeper NOT storm ", text) == "The [keeper] OR the [storm], NEAR the light; text: a column.");
    CHECK(marked("NEAR(keeper storm)", text).empty()); // a phrase: "near keeper"
    CHECK(marked("NEAR(the light, 9)", text).empty());
    CHECK(marked("(keeper storm)", text) == "The [keeper] OR the [storm], NEAR the light; text: a column.");
    CHECK(marked("{text}:keeper ", text).empty()); // a phrase: "text keeper"
    CHECK(marked("text:", text) == "The keeper OR the storm, NEAR the light; [text]: a column.");
    CHECK(marked("^keeper*", text) == "The [keeper] OR the storm, NEAR the light; text: a column.");
    CHECK(marked("keeper + -- ; ' ", text) == "The [keeper] OR the storm, NEAR the light; text: a column.");
    for (const char* nothing : {"\"", "\"\"\"", "*", "(", ")", "- + ^ : {} ()", "\"(\" AND", "\x01\x02", "。、"})
        CHECK(marked(nothing, text).empty());
    CHECK(text_query("--- ()").is_empty());
}

TEST_CASE("typed text: its size is bounded")
{
    std::string many, words, quotes(100'000, '"');
    for (int i = 0; i < 10'000; ++i) {
        many += "storm OR ";
        words += "w" + std::to_string(i) + ' ';
    }
    CHECK(marked(many, "A storm.") == "A [storm].");
    const TextQuery query = text_query(words);
    CHECK(query.terms == TextQuery::max_terms);
    CHECK(query.all.size() < TextQuery::max_terms * (TextQuery::max_term_bytes + 10));
    CHECK(marked(words, "w1 w2").empty());
    CHECK(marked(quotes, "A storm.").empty());
    const TextQuery endless = text_query(std::string(1'000'000, 'x'));
    CHECK(endless.all.size() < 100 * (TextQuery::max_term_bytes + 30));
    CHECK(text_query(std::string(1'000'000, '"') + "x").is_empty());
}

TEST_CASE("typed text: no bytes make a malformed query")
{
    const std::vector<std::string> pieces{"\"",
                                          "keeper",
                                          " ",
                                          "NEAR(",
                                          ")",
                                          " OR ",
                                          " AND ",
                                          " NOT ",
                                          "*",
                                          "^",
                                          ":",
                                          "{text}",
                                          "text",
                                          "+",
                                          "-",
                                          ",",
                                          "\\",
                                          "'",
                                          std::string("\0", 1),
                                          "\x01",
                                          "\x02",
                                          "\x7F",
                                          "\xFF",
                                          "\xC3",
                                          "\xE2\x80\x9C",
                                          "\xEF\xBF\xBF",
                                          "灯",
                                          "\n",
                                          "é"};
    std::mt19937 random(7);
    const std::vector<std::string> texts{"The keeper, NEAR text.", "\x01\x02\xFF", "", "灯 é"};
    for (int round = 0; round < 2000; ++round) {
        std::string typed;
        for (uint32_t n = random() % 9; n > 0; --n)
            typed +=
                random() % 4 == 0 ? std::string(1, static_cast<char>(random())) : pieces[random() % pieces.size()];
        CAPTURE(typed);
        CHECK_NOTHROW(found_in(text_query(typed), texts));
    }
}

TEST_CASE("typed text: control characters in a text do not move the places of words")
{
    CHECK(marked("keeper", std::string("\x01\x02\x01 keeper \x02 x")) == "\x01\x02\x01 [keeper] \x02 x");
    const std::string with_nul("a\0keeper\0", 9);
    CHECK(marked("keeper", with_nul) == std::string("a\0[keeper]\0", 11));
}
