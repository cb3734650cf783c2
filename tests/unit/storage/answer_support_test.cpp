// The sentence under an answer, and what of the answer stands in no passage.
#include "storage/session/answer_support.h"

#include "storage/passages/named_things.h"
#include "storage/passages/word_overlap.h"
#include "tests/unit/storage/book_session.h"

using namespace palimpsest;
using namespace palimpsest::storage;
using palimpsest::tests::BookSession;
using Strings = std::vector<std::string>;

namespace {

const char* const story =
    "CHAPTER I\n\nMr. Thorne kept the light for thirty years. He had a dog, and its name was Pilot. The dog was "
    "old.\n\n"
    "In 1823 a storm took the roof. Ebenezer Wray built another one, of slate. It cost forty pounds.\n\n"
    "CHAPTER II\n\nThe harbour was dredged. \"Nobody asked us,\" said Thorne. The boats came in at noon.\n";

// All passages of a document as if they had been found.
struct Story : BookSession {
    explicit Story(const std::string& text = story) : BookSession(text)
    {
        with_book();
        for (const StoredPassage& passage : PassageIndex(store().database).all(store().library.list().at(0).id))
            found.read.push_back({passage, 0});
    }
    AnswerSupport support(const std::string& answer, const std::string& question)
    {
        AnswerSupport support = support_of(answer, FoundSentences(found, {question}, store(), nullptr));
        if (support.quote) check_verbatim(*support.quote);
        return support;
    }
    void check_verbatim(const Quote& quote)
    {
        const StoredPassage& place = quote.place;
        CHECK(store().library.text(place.document, place.first_byte, place.end_byte) == quote.text);
        const auto ends = store().library.token_ends(place.document, place.first_token, place.tokens());
        const uint64_t begin =
            place.first_token == 0 ? 0 : store().library.token_ends(place.document, place.first_token - 1, 1).at(0);
        CHECK(begin <= place.first_byte);
        CHECK(ends.front() > place.first_byte);
        CHECK(ends.back() >= place.end_byte);
        if (ends.size() > 1) CHECK(ends[ends.size() - 2] < place.end_byte);
    }
    Rereading found;
};

} // namespace

TEST_CASE("the sentence with the words of question and answer is quoted, verbatim and with its place")
{
    Story tested;
    CHECK(tested.support("Wray did.", "Who built another roof of slate?").quote->text ==
          "Ebenezer Wray built another one, of slate.");
    CHECK(tested.support("", "How many pounds did it cost?").quote->text == "It cost forty pounds.");
    CHECK(tested.support("It was Pilot.", "What was the name of the dog?").quote->text ==
          "He had a dog, and its name was Pilot.");
    CHECK(tested.support("", "What is in chapter II?").quote->text != "CHAPTER II"); // a heading tells nothing
    const AnswerSupport noon = tested.support("At noon.", "When did the boats come in?");
    CHECK(noon.quote->text == "The boats came in at noon.");
    CHECK(noon.quote->sentence(tested.store())
              .english()
              .starts_with("\"The boats came in at noon.\" (CHAPTER II, tokens "));
    CHECK(noon.quote->json(tested.store())["section"] == "CHAPTER II");
}

TEST_CASE("excerpts are the best sentences with their neighbours, verbatim, and never across passages")
{
    Story tested;
    const auto excerpts_for = [&](const std::string& question) {
        std::vector<std::string> texts;
        for (const Quote& excerpt : FoundSentences(tested.found, {question}, tested.store(), nullptr).excerpts()) {
            tested.check_verbatim(excerpt);
            texts.push_back(excerpt.text);
        }
        return texts;
    };
    const Strings cost = excerpts_for("How many pounds did the slate cost?");
    REQUIRE(cost.size() == 1); // the two best follow one another
    CHECK(cost[0].find("Ebenezer Wray built another one, of slate. It cost forty pounds.") != std::string::npos);
    CHECK(excerpts_for("Was the harbour dredged?").at(0).starts_with("The harbour was dredged."));
    const Strings boats = excerpts_for("When did the boats come in?");
    CHECK(boats.at(0).find("The boats came in at noon.") != std::string::npos);
    for (const std::string& text : boats) // the last sentence of chapter I is no neighbour of chapter II's first
        CHECK((text.find("forty pounds") == std::string::npos || text.find("harbour") == std::string::npos));
    tested.found = {};
    CHECK(excerpts_for("Who?").empty());
}

TEST_CASE("names and numbers of an answer that stand in no passage are listed")
{
    Story tested;
    CHECK(tested.support("It was built by Ebenezer Wray in 1823.", "Who built it?").unsupported.empty());
    CHECK(tested.support("It was built by Amos Tickell in 1824, for fifty pounds.", "Who built it?").unsupported ==
          Strings{"Amos", "Tickell", "1824", "fifty"});
    CHECK(tested.support("Amos Tickell did.", "Did Amos Tickell build it?").unsupported.empty());
    CHECK(tested.support("I do not know. Perhaps nobody did. Yes.", "Who built it?").unsupported.empty());
    CHECK(tested.support("Lisbon. Darcy did.", "Where was it built?").unsupported == Strings{"Lisbon", "Darcy"});
    CHECK(tested.support("It cost 1,823 pounds and 3.5 pence.", "How much?").unsupported == Strings{"3.5"});
}

TEST_CASE("without passages nothing is quoted, and nothing is called unsupported")
{
    Story tested;
    tested.found = {};
    const AnswerSupport support = tested.support("It was Amos Tickell in 1824.", "Who built it?");
    CHECK_FALSE(support.quote);
    CHECK(support.unsupported.empty());
}

TEST_CASE("a damaged text costs the quote, not the answer")
{
    for (const char* kind : {"0", "2"}) { // the text, and where its tokens end
        INFO("kind " << kind);
        Story tested;
        tested.store().database.sql().exec(
            (std::string("UPDATE document_blocks SET hash = hash + 1 WHERE kind = ") + kind).c_str());
        const FoundSentences found(tested.found, {"When did the boats come in?"}, tested.store(), nullptr);
        CHECK_FALSE(support_of("At noon.", found).quote);
        CHECK(found.excerpts().empty());
    }
}

TEST_CASE("the last of many short sentences is quoted, and names there are known")
{
    std::string text;
    for (int i = 0; i < 400; ++i)
        text += "Sea lit. Lamp saw. ";
    Story tested(text + "The wick was trimmed by Amos Tickell in 1824.\n");
    const AnswerSupport support = tested.support("It was Amos Tickell, in 1824.", "Who trimmed the wick?");
    CHECK(support.quote->text == "The wick was trimmed by Amos Tickell in 1824.");
    CHECK(support.unsupported.empty());
}

TEST_CASE("hostile questions and answers find a sentence, and do no harm")
{
    Story tested;
    for (const std::string& text :
         {std::string("\"NEAR( OR *"), std::string("\xFF\xFE"), std::string(100000, 'x'), std::string()})
        CHECK(tested.support(text, text).quote);
}

TEST_CASE("names and numbers are found in a text")
{
    CHECK(names_in("The keeper saw Job Bunt. Uriah Cobb slept. And I left Bunt.") ==
          Strings{"Job", "Bunt", "Uriah", "Cobb", "Bunt"});
    CHECK(numbers_in("In 1790 he saw sixty-one ships, the 2nd at Twelve.") ==
          Strings{"1790", "sixty", "one", "2nd", "twelve"});
    CHECK(has_words("the Three Sisters inn", "three sisters"));
    CHECK_FALSE(has_words("the Three Sister inn", "Three Sisters"));
    CHECK_FALSE(has_words("thirty", "thirt"));
}

TEST_CASE("rare words count more than those that all sentences have, whatever their endings")
{
    const std::vector<std::string_view> sentences = {"The keeper slept.", "The keeper was trimming wicks.",
                                                     "A keeper ate."};
    const Strings words = {"keeper", "wick"};
    const auto overlap = word_overlap(words, sentences);
    CHECK(overlap[1] == 1);
    CHECK(overlap[0] == overlap[2]);
    CHECK(overlap[0] < 0.3);
    CHECK(word_overlap(Strings{"quartz"}, sentences) == std::vector<double>{0, 0, 0});
    CHECK(word_overlap(words, {}).empty());
}
