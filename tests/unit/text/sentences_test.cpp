#include "engine/text/sentences.h"

#include <string>

#include "tests/support/catch.h"

using namespace palimpsest::engine;

namespace {

std::vector<std::string> cut(const std::string& text)
{
    std::vector<std::string> all;
    for (const TextRange& range : sentences(text))
        all.emplace_back(range.in(text));
    return all;
}

std::vector<std::string> windows(const std::string& text, size_t least)
{
    std::vector<std::string> all;
    for (const TextRange& range : sentence_windows(sentences(text), least))
        all.emplace_back(range.in(text));
    return all;
}

using Strings = std::vector<std::string>;

} // namespace

TEST_CASE("a text is cut into its sentences, without the white space around them")
{
    CHECK(cut("He came. She went!\nWhy? \"No.\" \"Yes!\" they said.") ==
          Strings{"He came.", "She went!", "Why?", "\"No.\"", "\"Yes!\" they said."});
    CHECK(cut("  One.  \n\n Two\nthree\n\n\n").back() == "Two\nthree");
    CHECK(cut("It cost 3.50 in all. He paid.") == Strings{"It cost 3.50 in all.", "He paid."});
    CHECK(cut("Wait... what? So\u2026 No.") == Strings{"Wait... what?", "So\u2026", "No."});
    CHECK(cut("\u4E2D\u6587\u3002\u662F\u3002\u300D\u5B8C").size() == 3);
    CHECK(cut("").empty());
    CHECK(cut(" \n\n ").empty());
    CHECK(cut("\xFF. A") == Strings{"\xFF.", "A"});
}

TEST_CASE("sentences end with the stops of their script")
{
    CHECK(cut("\u4EC0\u4E48\uFF1F\uFF01\u597D\u3002") == Strings{"\u4EC0\u4E48\uFF1F\uFF01", "\u597D\u3002"});
    CHECK(cut("\u300C\u597D\u3002\u300D\u4ED6\u8BF4\u3002") ==
          Strings{"\u300C\u597D\u3002\u300D", "\u4ED6\u8BF4\u3002"});
    CHECK(cut("\u771F\uFF1F\u2026\u2026\u6211\u4E0D\u3002") ==
          Strings{"\u771F\uFF1F\u2026\u2026", "\u6211\u4E0D\u3002"});
    CHECK(cut("\u4EC0\uFF1F!\u597D\u3002") == Strings{"\u4EC0\uFF1F!", "\u597D\u3002"});
    CHECK(cut("\uFF76\uFF85\uFF61\uFF76\uFF85") == Strings{"\uFF76\uFF85\uFF61", "\uFF76\uFF85"});
    CHECK(cut("\u0645\u0646\u061F \u0623\u0646\u0627.") == Strings{"\u0645\u0646\u061F", "\u0623\u0646\u0627."});
    CHECK(cut("\u06C1\u06D2\u06D4 \u06C1\u06D2\u06D4") == Strings{"\u06C1\u06D2\u06D4", "\u06C1\u06D2\u06D4"});
    CHECK(cut("\u0939\u0948\u0964 \u0939\u0948\u0965 \u0939\u0948") ==
          Strings{"\u0939\u0948\u0964", "\u0939\u0948\u0965", "\u0939\u0948"});
}

TEST_CASE("the full stop of a title or an initial ends no sentence")
{
    CHECK(cut("Mr. Thorne met Dr. Mapp. They talked.") == Strings{"Mr. Thorne met Dr. Mapp.", "They talked."});
    CHECK(cut("It was J. R. Wray of St. Ives. He slept.") ==
          Strings{"It was J. R. Wray of St. Ives.", "He slept."});
    CHECK(cut("So did I. He slept.") == Strings{"So did I.", "He slept."});
    CHECK(cut("Oh Mr! Run.") == Strings{"Oh Mr!", "Run."});
    CHECK(cut("It is the best. A man came.") == Strings{"It is the best.", "A man came."});
}

TEST_CASE("windows begin with every sentence, and reach a length")
{
    CHECK(windows("Aaaa. Bbbb. Cccc. Dddd.", 10) == Strings{"Aaaa. Bbbb.", "Bbbb. Cccc.", "Cccc. Dddd."});
    CHECK(windows("Aa. Bb. Cc. Dd. Ee.", 12) == Strings{"Aa. Bb. Cc. Dd.", "Bb. Cc. Dd. Ee."});
    CHECK(windows("Aa. Bb. Cc. Dd. Ee.", 20) == Strings{"Aa. Bb. Cc. Dd. Ee."});
    CHECK(windows("Aaaa. Bbbb.", 100) == Strings{"Aaaa. Bbbb."});
    CHECK(windows("Aaaa. Bbbb.", 1) == Strings{"Aaaa.", "Bbbb."});
    const std::string longer = "B" + std::string(40, 'b') + ".";
    CHECK(windows("Aa. " + longer + " Cc.", 10) == Strings{"Aa. " + longer, longer, "Cc."});
    CHECK(windows("", 10).empty());
}

TEST_CASE("a text of one endless sentence takes time in proportion to its length")
{
    const std::string text(1 << 20, 'a');
    CHECK(sentences(text).size() == 1);
    std::string many;
    for (int i = 0; i < 20000; ++i)
        many += "Ab. ";
    const size_t count = sentence_windows(sentences(many), 100).size();
    CHECK(count > many.size() / 30);
    CHECK(count <= many.size() / 25 + 1); // a quarter of the least length apart
}
