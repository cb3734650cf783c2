// Notes: how a document is divided, which sentences stand for a stretch, and what of a model's text is refused.
#include <algorithm>
#include <random>
#include <set>

#include "storage/notes/note_plan.h"
#include "storage/notes/note_text.h"
#include "storage/notes/telling_sentences.h"
#include "tests/support/catch.h"

using namespace palimpsest;
using namespace palimpsest::storage;

namespace {

// Passages that follow one another, by section and number of tokens; three bytes per token.
std::vector<StoredPassage> passages(const std::vector<std::pair<int64_t, uint64_t>>& all)
{
    std::vector<StoredPassage> made;
    uint64_t at = 0;
    for (const auto& [section, tokens] : all) {
        made.push_back({.document = 1,
                        .index = std::ssize(made),
                        .first_token = at,
                        .end_token = at + tokens,
                        .first_byte = 3 * at,
                        .end_byte = 3 * (at + tokens),
                        .section = section});
        at += tokens;
    }
    return made;
}

std::vector<StoredPassage> repeated(int64_t section, uint64_t tokens, size_t count)
{
    return passages(std::vector<std::pair<int64_t, uint64_t>>(count, {section, tokens}));
}

void check_covers(const std::vector<Stretch>& stretches, const std::vector<StoredPassage>& of)
{
    uint64_t token = 0, byte = 0;
    for (const Stretch& stretch : stretches) {
        CHECK(stretch.first_token == token);
        CHECK(stretch.first_byte == byte);
        REQUIRE(stretch.end_token > token);
        token = stretch.end_token;
        byte = stretch.end_byte;
    }
    CHECK(token == (of.empty() ? 0 : of.back().end_token));
    CHECK(byte == (of.empty() ? 0 : of.back().end_byte));
}

std::vector<std::string> texts(const std::string& text, size_t most, size_t words)
{
    std::vector<std::string> all;
    for (const engine::TextRange& range : telling_sentences(text, most, words))
        all.emplace_back(range.in(text));
    return all;
}

} // namespace

TEST_CASE("a section has one stretch, and short ones are joined to what follows")
{
    const auto of = passages({{-1, 20}, {0, 150}, {0, 150}, {1, 30}, {2, 240}, {2, 240}, {3, 90}});
    const auto stretches = NotePlan::of(of);
    check_covers(stretches, of);
    REQUIRE(stretches.size() == 3);
    CHECK(stretches[0].end_token == 320);
    CHECK(stretches[0].section == 0); // most of it
    CHECK(stretches[1].end_token == 830);
    CHECK(stretches[1].section == 2);
    CHECK(stretches[2].section == 3); // the end of a document stays, however short
    CHECK(NotePlan::of({}).empty());
}

TEST_CASE("a long section, and text without headings, is divided into equal parts")
{
    CHECK(NotePlan::of(repeated(0, 240, 12)).size() == 1); // 2,880 tokens
    for (const size_t count : {13u, 25u, 100u, 1000u}) {
        const auto of = repeated(-1, 240, count);
        const auto stretches = NotePlan::of(of);
        check_covers(stretches, of);
        for (const Stretch& stretch : stretches) {
            CHECK(stretch.tokens() <= NotePlan::max_tokens);
            CHECK(stretch.tokens() >= NotePlan::part_tokens / 2);
        }
    }
}

TEST_CASE("any passages are covered by their stretches, of a bounded length")
{
    std::mt19937 random(7);
    for (int run = 0; run < 200; ++run) {
        std::vector<std::pair<int64_t, uint64_t>> all;
        int64_t section = -1;
        for (size_t i = 0; i < 1 + random() % 60; ++i) {
            if (random() % 4 == 0) ++section;
            all.emplace_back(section, 1 + random() % 240);
        }
        const auto of = passages(all);
        const auto stretches = NotePlan::of(of);
        check_covers(stretches, of);
        for (const Stretch& stretch : stretches)
            CHECK(stretch.tokens() <= NotePlan::max_tokens + 240);
    }
}

TEST_CASE("a text is cut before it repeats itself, and back to the end of a sentence")
{
    const auto cut = [](const char* text, bool ended = true) { return trimmed(text, 60, ended); };
    CHECK(cut("He came. He saw it.") == TrimmedText{"He came. He saw it.", false});
    CHECK(cut("He came at last. She left. He came at last. She left.") ==
          TrimmedText{"He came at last. She left.", true});
    CHECK(cut("The man was a man who was there and the man was a man who was there") ==
          TrimmedText{"The man was a man who was there and...", true});
    CHECK(cut("No. No. No.") == TrimmedText{"No. No. No.", false}); // may be said twice
    CHECK(cut("She left the house. Then she", false) == TrimmedText{"She left the house.", false});
    CHECK(cut("She left the house and then", false) == TrimmedText{"She left the house and then...", false});
    CHECK(cut("").text.empty());
    CHECK(cut(" \n ").text.empty());
    CHECK(repeats_itself("one two three four five six one two three four five six"));
    CHECK_FALSE(repeats_itself("one two three four five six seven"));
    CHECK(without_repetition("1. He came.\n2. She  left.") == "1. He came.\n2. She  left."); // lines stay
    CHECK(without_repetition("- He came at last.\n- He came at last.\n- He came at last.") == "- He came at last.");
    CHECK(without_repetition("1. He came at last.\n2. He came at last.") == "1. He came at last.");
    CHECK(without_repetition("1. The door was green and the door was green and the door was green") ==
          "1. The door was green and...");
    CHECK(without_repetition("1) The door was green\n2) The door was green\n3) The door was green") ==
          "1) The door was green...");
    CHECK(without_repetition("There were two of them and there were two of them and there were two of them") ==
          "There were two of them and...");
}

TEST_CASE("a text has at most so many words, and lists become one paragraph")
{
    CHECK(trimmed("One two three. Four five six.", 5, true).text == "One two three.");
    CHECK(trimmed("One two three four five six.", 4, true).text == "One two three four...");
    CHECK(trimmed("# Summary\n\n- **Tom** ran.\n- Ann  hid.\n\n1. It rained.", 60, true).text ==
          "Summary Tom ran. Ann hid. It rained.");
    CHECK(trimmed("3.5 miles he walked.", 60, true).text == "3.5 miles he walked.");
}

TEST_CASE("names and numbers that the source does not hold are found, also where a sentence begins")
{
    const std::string source = "CHAPTER II\nOn the 3rd of May, Miss Bennet walked twelve miles to Netherfield.";
    const auto invented = [&](const char* text) { return invented_in(text, source); };
    CHECK(invented("Miss Bennet walked to Netherfield on the 3rd of May.").empty());
    CHECK(invented("The walk of Bennet was of twelve miles.").empty());
    CHECK(invented("Miss Bennet met Mr. Darcy.") == std::vector<std::string>{"Mr", "Darcy"});
    CHECK(invented("Darcy walked to Netherfield.") == std::vector<std::string>{"Darcy"});
    CHECK(invented_in("He saw Rose there.", "He rose early.") == std::vector<std::string>{"Rose"});
    CHECK(invented_in("It is Chapter two.", "CHAPTER TWO").empty());
    CHECK(invented("She met \u00c9lodie and \u0418\u0432\u0430\u043d.") ==
          std::vector<std::string>{"\u00c9lodie", "\u0418\u0432\u0430\u043d"});
    CHECK(invented("It was the tenth time.") == std::vector<std::string>{"tenth"});
    CHECK(invented("She walked 13 miles.") == std::vector<std::string>{"13"});
    CHECK(invented("She walked thirteen miles.") == std::vector<std::string>{"thirteen"});
    CHECK(invented("She walked. However, it was far. Finally she came.").empty());
    CHECK(invented("\u201cBennet\u201d walked.").empty());
    CHECK(invented("").empty());
}

TEST_CASE("a text is about its source if at least two thirds of its content words stand there")
{
    const std::string source = "The keeper of the lighthouse polished the great lamp before the storm began.";
    CHECK(is_about("The keeper polished the lamp of the lighthouse before a storm.", source));
    CHECK(is_about("Before the storm, the lamps of the lighthouse are polishing its keeper.", source));
    CHECK_FALSE(is_about("A man loves his wife and talks with her about their happy marriage.", source));
    CHECK_FALSE(
        is_about("This passage is about the keeper, the storm, and the great lamp of the lighthouse.", source));
    CHECK_FALSE(is_about("The lamp.", source)); // too short to say anything
    CHECK_FALSE(is_about("", source));
}

TEST_CASE("a summary is about the whole if it has two words of each of its parts")
{
    const std::vector<std::string> notes = {"Tom leaves Ashford by train.", "Tom meets a sailor in Dover.",
                                            "Tom buys a parrot.",           "Tom is robbed of his money.",
                                            "Tom writes to his sister.",    "Tom returns at Christmas.",
                                            "Tom marries the baker.",       "Tom grows old with grandchildren."};
    CHECK(is_about_all("Tom leaves Ashford, buys a parrot and is robbed, writes to his sister, and grows old.",
                       notes));
    CHECK_FALSE(is_about_all("Tom leaves Ashford, buys a parrot, and writes to his sister.", notes));
    CHECK_FALSE(is_about_all("Tom leaves Ashford, buys a parrot, and has a sister.", notes));
    CHECK_FALSE(is_about_all("Tom takes a train and meets a sailor. Tom meets Tom.", notes));
    CHECK_FALSE(is_about_all("Tom grows old.", notes));
    CHECK(is_about_all("He grows old with grandchildren.", std::span(notes).last(1)));
}

TEST_CASE("sentences of a summary that name what the notes do not hold are left out, and its lines stay")
{
    const CheckedText kept = checked("Tom left Ashford.\n\n1. He met Napoleon there.\n2. He bought a parrot.",
                                     "Tom left Ashford. He bought a parrot.");
    CHECK(kept.text == "Tom left Ashford.\n2. He bought a parrot.");
    CHECK(kept.left_out == 1);
    CHECK(kept.kept == 2);
    const CheckedText repeated = checked("Tom left Ashford. Tom left Ashford.", "Tom left Ashford.");
    CHECK(repeated.text == "Tom left Ashford.");
    CHECK(repeated.repeats);
}

TEST_CASE("the sentences that share most with the others stand for a text, in its order, and none says the same")
{
    const std::string text =
        "The weather was fine on that day in spring. The keeper lit the lamp of the lighthouse at dusk. "
        "Far away a dog barked at nothing in particular. The lamp of the lighthouse was the pride of its keeper. "
        "The keeper lit the lamp of the lighthouse at dusk again. Somebody had left two apples upon the stairs. "
        "At dusk the keeper of the lighthouse trimmed the wick of the lamp.";
    const auto two = texts(text, 2, 60);
    REQUIRE(two.size() == 2);
    CHECK(text.find(two[0]) < text.find(two[1]));
    for (const std::string& sentence : two)
        CHECK(sentence.find("keeper") != std::string::npos);
    CHECK_FALSE((two[0].starts_with("The keeper lit") && two[1].starts_with("The keeper lit")));
    CHECK(texts(text, 3, 14).size() == 1); // no more words than are wanted
    CHECK(texts("Short. Very short.\n\nno capital letter begins this line of text.", 2, 60).empty());
    CHECK(texts("", 2, 60).empty());
}

TEST_CASE("speech and questions stand for a text only if there is nothing else")
{
    const std::string speech =
        "\"I have seen the keeper of the lighthouse. I have seen the keeper trim the lamp of the "
        "lighthouse. Is the keeper of the lighthouse the owner of its lamp?\" asked the sailor.";
    const std::string told = "The sailor had left the harbour in a little boat at noon.";
    CHECK(texts(speech + "\n\n" + told, 1, 60) == std::vector<std::string>{told});
    CHECK(texts(speech, 1, 60).size() == 1);
    CHECK(texts("\u201cI have seen the lighthouse. I have seen the keeper of it.\u201d\n\n" + told, 1, 60) ==
          std::vector<std::string>{told});
}

TEST_CASE("what is written about a source is kept, or the source is quoted in its place")
{
    const std::string source =
        "The old keeper lit the great lamp of the lighthouse every evening at dusk. Nobody had "
        "asked him to polish the glass of the lamp, and yet he polished the glass every morning.";
    const auto judged = [&](const char* written) {
        return kept_or_quoted(written, true, "THE LAMP OF FELLING", source, {.words = 60, .sentences = 1});
    };
    const char* good = "The keeper of Felling lit the lamp of the lighthouse at dusk and polished its glass.";
    CHECK(judged(good) == KeptText{.text = good});
    const std::string twice = std::string(good) + " " + good;
    CHECK(judged(twice.c_str()) == KeptText{.text = good, .repeats = true});
    for (const char* bad : {"The keeper Ahab lit the lamp of the lighthouse at dusk and polished its glass.",
                            "A man loves his wife very much, and they talk about their happy marriage."}) {
        const KeptText kept = judged(bad);
        CHECK(kept.origin == NoteOrigin::Quoted);
        CHECK(kept.refused == bad);
        CHECK(source.find(kept.text) != std::string::npos);
    }
    CHECK(judged("").origin == NoteOrigin::Quoted);
}

TEST_CASE("text without spaces is cut by its bytes, between characters")
{
    const std::string letters(30000, 'a');
    CHECK(quoted(letters, {}, 60).size() == 60 * 12 + 3);
    CHECK(trimmed(letters, 60, true).text.size() == 60 * 12 + 3);
    std::string chinese;
    for (int i = 0; i < 3000; ++i)
        chinese += "\u4ed6";
    const std::string cut = quoted(chinese, {}, 60);
    CHECK(cut.size() == 60 * 12 + 3);
    CHECK(chinese.starts_with(cut.substr(0, cut.size() - 3)));
}

TEST_CASE("what is quoted is verbatim, and says where something is left out")
{
    const std::string text = "He came\nhome late at night. She slept.  They met the next morning.";
    const auto all = engine::sentences(text);
    REQUIRE(all.size() == 3);
    CHECK(quoted(text, {all[0], all[1]}, 60) == "He came home late at night. She slept.");
    CHECK(quoted(text, {all[0], all[2]}, 60) == "He came home late at night. ... They met the next morning.");
    const std::string gaps = "He came. ... She slept.";
    const auto ends = engine::sentences(gaps);
    CHECK(quoted(gaps, {ends.front(), ends.back()}, 60) == gaps);
    CHECK(quoted(text, {}, 4) == "He came home late ...");
    CHECK(quoted("two words", {}, 4) == "two words");
    CHECK(quoted("", {}, 4).empty());
}
