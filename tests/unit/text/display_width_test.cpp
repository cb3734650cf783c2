// How wide text is on a terminal, where it can be cut, and what of it is escaped.
#include "engine/text/unicode/display_width.h"

#include "engine/text/unicode/visible_text.h"
#include "tests/support/catch.h"

using namespace palimpsest::engine;

namespace {

const std::string chinese = "\u4E2D\u6587", hebrew = "\u05E9\u05DC\u05D5\u05DD";
const std::string accent = "e\u0301", family = "\U0001F468\u200D\U0001F469\u200D\U0001F467";
const std::string hand = "\U0001F44B\U0001F3FD", flag = "\U0001F1E9\U0001F1EA", heart = "\u2764\uFE0F";
const std::string syllable = "\u1112\u1161\u11AB", thai = "\u0E19\u0E49\u0E33", hindi = "\u0928\u093F";

} // namespace

TEST_CASE("wide characters and emoji take two columns, marks none")
{
    CHECK(display_width("") == 0);
    CHECK(display_width("abc") == 3);
    CHECK(display_width(chinese) == 4);
    CHECK(display_width(hebrew) == 4);
    CHECK(display_width(accent) == 1);
    for (const std::string& two : {family, hand, flag, heart, syllable, thai, hindi})
        CHECK(display_width(two) == 2);
    for (const std::string& pointing : {std::string("\u261D\U0001F3FD"), std::string("\u270C\U0001F3FB")})
        CHECK(display_width(pointing) == 2); // narrow without the skin tone
    CHECK(display_width(flag + flag) == 4);
    CHECK(display_width("\u2764") == 1);
    CHECK(display_width("\u2068a\u2069") == 1);
    CHECK(display_width("a\xFF\xE4\xB8") == 4); // invalid bytes, as a terminal replaces them
}

TEST_CASE("text is cut between clusters, and padded by columns")
{
    CHECK(within_width(chinese, 3) == "\u4E2D");
    CHECK(within_width(accent + "x", 1) == accent);
    CHECK(within_width(family + "x", 1).empty());
    CHECK(within_width(family + "x", 2) == family);
    CHECK(within_width("abc", 9) == "abc");
    const std::string text = "a" + family + accent + hand + thai + flag + chinese + syllable;
    for (size_t columns = 0; columns <= display_width(text); ++columns) {
        const std::string_view part = within_width(text, columns);
        CHECK(display_width(part) <= columns);
        CHECK(display_width(part) + 1 >= columns);
        CHECK(display_width(part) + display_width(std::string_view(text).substr(part.size())) ==
              display_width(text));
    }
    CHECK(padded(chinese, 6) == chinese + "  ");
    CHECK(padded(chinese, 3) == chinese);
}

TEST_CASE("what hides, moves the cursor or overrides directions is escaped")
{
    CHECK(visible("a\u202Eb\u2066\x1B[2Jc\xFF\n\td\u0085\x7F\xE4\xB8") ==
          "a\\u{202e}b\\u{2066}\\x1b[2Jc\\xff\n\td\\u{85}\\x7f\\xe4\\xb8");
    CHECK(visible("\u2062\uFEFF\U000E0041") == "\\u{2062}\\u{feff}\\u{e0041}");
    const std::string khmer = "\u1780\u200B\u1781", name = "\u845B\U000E0100";
    CHECK(visible(khmer) == khmer);
    CHECK(visible(name) == name);
    const std::string spelt = "\u0645\u06CC\u200C\u062E \u200F\u05D0\u200E \u0628\u061C " + family + heart + thai;
    CHECK(visible(spelt) == spelt);
    CHECK(visible_line("a\n\tb\u2028c") == "a  b\\u{2028}c");
}

TEST_CASE("text that reads leftwards is isolated from what stands around it")
{
    for (const std::string& plain : {std::string("abc"), chinese, family, std::string()})
        CHECK(isolated(plain) == plain);
    for (const std::string& turned : {hebrew, "a " + hebrew, std::string("\u0664"), std::string("\u200F")})
        CHECK(isolated(turned) == "\u2068" + turned + "\u2069");
}
