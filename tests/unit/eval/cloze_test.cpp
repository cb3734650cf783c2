#include "engine/eval/cloze.h"

#include <algorithm>
#include <set>

#include "tests/support/catch.h"

using namespace palimpsest::engine;

namespace {

const std::vector<std::string> names = {"Anna",  "Boris", "Clara",  "Dmitri", "Elsa",  "Fyodor",
                                        "Greta", "Hamid", "Ingrid", "Jonas",  "Katya", "Ludwig"};

std::string day(size_t i)
{
    return std::string(1, static_cast<char>('a' + i));
}

// A sentence for each name, with the letter of a day that tells it from the others.
std::string letters_of_names()
{
    std::string text;
    for (size_t i = 0; i < names.size(); ++i)
        text += "In that long winter a letter came on day " + day(i) + " to " + names[i] + " from the north. ";
    return text;
}

} // namespace

TEST_CASE("a sentence is asked for its name, and nine other names of the text are there to choose from")
{
    const std::string text = letters_of_names();
    const auto made = make_clozes(text, names.size(), 1);
    REQUIRE(made.size() == names.size());
    for (size_t i = 0; i < made.size(); ++i) {
        const Cloze& cloze = made[i];
        CHECK(cloze.answers[0] == " " + names[i]);
        CHECK(cloze.after == " from");
        CHECK(cloze.at.in(text) == names[i]);
        CHECK(cloze.before == "In that long winter a letter came on day " + day(i) + " to");
        const std::set<std::string> answers(cloze.answers.begin(), cloze.answers.end());
        CHECK(answers.size() == Cloze::answers_asked);
        for (const std::string& answer : answers)
            CHECK(std::ranges::find(names, answer.substr(1)) != names.end());
    }
}

TEST_CASE("what the same words stand before elsewhere is not asked for")
{
    std::string text = letters_of_names();
    CHECK(make_clozes(text, 1, 1).size() == 1);
    std::string same;
    for (const std::string& name : names)
        same += "On that day of the long winter a letter came to " + name + " from the north. ";
    CHECK(make_clozes(same, 12, 1).empty());
}

TEST_CASE("no name that begins a sentence is asked for, and none without nine others to choose from")
{
    std::string text;
    for (size_t i = 0; i < names.size(); ++i)
        text +=
            "They had seen it all on day " + day(i) + " as " + names[i] + " said. " + names[11 - i] + " went on. ";
    for (const Cloze& cloze : make_clozes(text, 24, 1))
        CHECK(cloze.before.ends_with("as"));
    CHECK(make_clozes(text, 24, 1).size() == 12);
    CHECK(make_clozes(text.substr(0, text.find("day j")), 1, 1).empty());
    CHECK(make_clozes("", 5, 1).empty());
}

TEST_CASE("a name that is often there is no question and no answer")
{
    std::string text = letters_of_names();
    for (size_t i = 0; i < 3; ++i)
        text += "In that long winter a letter came on night " + day(i) + " to Anna from the south. ";
    for (const Cloze& cloze : make_clozes(text, 15, 1))
        CHECK(std::ranges::find(cloze.answers, " Anna") == cloze.answers.end());
    CHECK(make_clozes(text, 15, 1).size() == 11);
}

TEST_CASE("no answer stands in the sentence before its place")
{
    std::string text;
    for (size_t i = 0; i < names.size(); ++i)
        text += "When we met old " + names[(i + 1) % 12] + " there on day " + day(i) + " we saw " + names[i] +
                " go by. ";
    const auto made = make_clozes(text, 12, 1);
    CHECK(made.size() == 12);
    for (const Cloze& cloze : made)
        for (const std::string& answer : cloze.answers)
            CHECK((cloze.before + " ").find(answer + " ") == std::string::npos);
}

TEST_CASE("each answer is followed by what follows the word, so that 19 does not stand for 1984")
{
    std::string text;
    for (size_t i = 0; i < 12; ++i)
        text += "It was on some day " + day(i) + " in the year " + std::to_string(i % 2 ? 1984 + i : 19 + i) +
                (i % 3 ? ", they say. " : " or later. ");
    const auto made = make_clozes(text, 12, 1);
    REQUIRE(made.size() == 12);
    for (size_t i = 0; i < made.size(); ++i)
        CHECK(made[i].after == (i % 3 ? "," : " or"));
}

TEST_CASE("no part of a number or of a joined word is asked for")
{
    std::string text;
    for (size_t i = 0; i < 12; ++i)
        text += "It had cost them on day " + day(i) + " some " + std::to_string(12 + i) + ".5 pounds and " +
                names[i] + "-like words and " + names[11 - i] + "\u2019s house. ";
    CHECK(make_clozes(text, 12, 1).empty());
}

TEST_CASE("the last word of a text, which may be cut, is not asked for")
{
    std::string text = letters_of_names();
    text.resize(text.rfind(" from"));
    CHECK(make_clozes(text, 12, 1).size() == 11);
}

TEST_CASE("rare words are asked for in a script without capitals that separates words")
{
    std::string text;
    for (const char* word :
         {"\u0645\u0641\u062a\u0627\u062d", "\u0633\u0641\u064a\u0646\u0629", "\u0645\u062f\u0631\u0633\u0629",
          "\u062c\u0632\u064a\u0631\u0629", "\u062d\u062f\u064a\u0642\u0629", "\u0645\u062f\u064a\u0646\u0629",
          "\u0637\u0627\u0648\u0644\u0629", "\u0646\u0627\u0641\u0630\u0629", "\u062d\u0642\u064a\u0628\u0629",
          "\u0633\u064a\u0627\u0631\u0629", "\u0642\u0635\u064a\u062f\u0629", "\u0635\u062d\u064a\u0641\u0629"})
        text += std::string("\u0631\u0623\u0649 \u0647\u0648 \u0641\u064a \u064a\u0648\u0645 \u0645\u0627 ") +
                std::to_string(text.size()) + "a " + word + " \u0647\u0646\u0627. ";
    const auto made = make_clozes(text, 12, 1);
    CHECK(made.size() == 12);
}

TEST_CASE("numbers are asked for with numbers, and rare words where there are neither names nor numbers")
{
    std::string numbers, words;
    const std::vector<std::string> rare = {"lantern", "harbour",  "weather", "captain", "sparrow", "thimble",
                                           "blanket", "cupboard", "orchard", "pigeons", "cabbage", "whisper"};
    for (size_t i = 0; i < 12; ++i) {
        numbers += "That long week they had counted on day " + day(i) + " some " + std::to_string(100 + 7 * i) +
                   " ships. ";
        words += "That long week they all saw on day " + day(i) + " the " + rare[i] + " once more. ";
    }
    const auto of_numbers = make_clozes(numbers, 12, 1), of_words = make_clozes(words, 12, 1);
    REQUIRE(of_numbers.size() == 12);
    REQUIRE(of_words.size() == 12);
    for (size_t i = 0; i < 12; ++i) {
        for (const std::string& answer : of_numbers[i].answers)
            CHECK(answer.find_first_not_of(" 0123456789") == std::string::npos);
        CHECK(of_words[i].answers[0] == " " + rare[i]);
    }
}

TEST_CASE("the same seed makes the same questions, and a script that does not separate words has none")
{
    const std::string text = letters_of_names();
    const auto one = make_clozes(text, 3, 9), two = make_clozes(text, 3, 9), other = make_clozes(text, 3, 10);
    REQUIRE(one.size() == 3);
    bool differs = false;
    for (size_t i = 0; i < 3; ++i) {
        CHECK(one[i].answers == two[i].answers);
        differs = differs || one[i].answers != other[i].answers;
    }
    CHECK(differs);
    std::string lines;
    for (int i = 0; i < 40; ++i)
        lines += "\u706f\u53f0\u770b\u5b88\u4eba " + std::to_string(10 + i) + "a \n";
    CHECK(make_clozes(lines, 5, 1).empty());
    CHECK(make_clozes("\u706f\u53f0\u770b\u5b88\u4eba\u5728\u65e5\u8bb0\u91cc\u5199\u9053\u3002", 1, 1).empty());
}
